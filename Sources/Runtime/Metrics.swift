/// All metrics of a process, rendered for Prometheus.
///
/// Labels are fixed when an instrument is made, so the number of series is bounded by the code and not by what clients send.
/// Making one again with the same name and labels gives the same instrument.
public final class Metrics: Sendable {
    /// Label names and values.
    public typealias Labels = KeyValuePairs<String, String>

    enum Kind: String, Sendable { case counter, gauge, histogram }

    enum Instrument: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram)
        case callback(@Sendable () -> Double)
    }

    struct Family: Sendable {
        let kind: Kind
        let help: String
        /// By rendered labels: `node="a",lane="0"`.
        var series: [String: Instrument] = [:]
    }

    private let families = Locked<[String: Family]>([:])

    public init() {}

    /// - Parameter name: ends in `_total`.
    public func counter(_ name: String, help: String, labels: Labels = [:]) -> Counter {
        let made = register(name, .counter, help, labels) { .counter(Counter()) }
        guard case .counter(let counter) = made else { preconditionFailure("\(name) is a callback") }
        return counter
    }

    public func gauge(_ name: String, help: String, labels: Labels = [:]) -> Gauge {
        let made = register(name, .gauge, help, labels) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = made else { preconditionFailure("\(name) is a callback") }
        return gauge
    }

    /// A gauge that is asked when it is read; a second one with the same name and labels takes the first one's place.
    public func gauge(_ name: String, help: String, labels: Labels = [:], read: @escaping @Sendable () -> Double) {
        _ = register(name, .gauge, help, labels, replacing: true) { .callback(read) }
    }

    /// A counter that is asked when it is read.
    public func counter(_ name: String, help: String, labels: Labels = [:], read: @escaping @Sendable () -> Double) {
        _ = register(name, .counter, help, labels, replacing: true) { .callback(read) }
    }

    public func histogram(
        _ name: String, help: String, buckets: Histogram.Buckets, labels: Labels = [:]
    ) -> Histogram {
        let made = register(name, .histogram, help, labels) { .histogram(Histogram(buckets)) }
        guard case .histogram(let histogram) = made else { preconditionFailure("\(name) is no histogram") }
        return histogram
    }

    /// The text exposition format, version 0.0.4.
    public func render() -> String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += "# HELP \(name) \(Exposition.escapedHelp(family.help))\n# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, instrument) in family.series.sorted(by: { $0.key < $1.key }) {
                Exposition.append(instrument, name: name, labels: labels, to: &text)
            }
        }
        return text
    }

    /// The `Content-Type` of ``render()``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private func register(
        _ name: String, _ kind: Kind, _ help: String, _ labels: Labels, replacing: Bool = false, make: () -> Instrument
    ) -> Instrument {
        precondition(Exposition.isName(name), "not a metric's name: \(name)")
        precondition(labels.allSatisfy { Exposition.isName($0.key) && $0.key != "le" }, "not a label's name in \(name)")
        let key = Exposition.labels(labels)
        let made = make()
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind, help: help)
            precondition(family.kind == kind, "\(name) was made as another kind of metric")
            let instrument = replacing ? made : family.series[key] ?? made
            family.series[key] = instrument
            families[name] = family
            return instrument
        }
    }
}

/// The text exposition format: https://prometheus.io/docs/instrumenting/exposition_formats/
enum Exposition {
    static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }

    static func labels(_ labels: Metrics.Labels) -> String {
        labels.map { "\($0.key)=\"\(escapedValue($0.value))\"" }.joined(separator: ",")
    }

    static func escapedValue(_ value: String) -> String { escaped(value, quotes: true) }
    static func escapedHelp(_ help: String) -> String { escaped(help, quotes: false) }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func append(_ instrument: Metrics.Instrument, name: String, labels: String, to text: inout String) {
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        switch instrument {
        case .counter(let counter): text += "\(name)\(braces) \(counter.value)\n"
        case .gauge(let gauge): text += "\(name)\(braces) \(gauge.value)\n"
        case .callback(let read): text += "\(name)\(braces) \(number(read()))\n"
        case .histogram(let histogram):
            let snapshot = histogram.snapshot()
            let separator = labels.isEmpty ? "" : ","
            for (bound, count) in zip(histogram.boundTexts + ["+Inf"], snapshot.cumulative) {
                text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(count)\n"
            }
            text += "\(name)_sum\(braces) \(number(snapshot.sum))\n\(name)_count\(braces) \(snapshot.cumulative.last ?? 0)\n"
        }
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), value.magnitude < 1e15 { return String(Int(value)) }
        return String(value)
    }
}
