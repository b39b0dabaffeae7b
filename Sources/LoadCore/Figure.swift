import RoostProtocol

/// One quantity, measured several times.
public struct Figure: Equatable, Sendable {
    public let name: String
    public let unit: String
    public private(set) var values: [Double]

    public init(name: String, unit: String, values: [Double] = []) {
        self.name = name
        self.unit = unit
        self.values = values
    }

    public mutating func add(_ value: Double) { values.append(value) }

    public var least: Double { values.min() ?? 0 }
    public var greatest: Double { values.max() ?? 0 }

    /// Of an even number of values, the mean of the two in the middle.
    public var median: Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    public var json: JSONText {
        .object([("name", .string(name)), ("unit", .string(unit)), ("values", .array(values.map { .double($0) }))])
    }

    /// A row of a table in Markdown: name, median, least and greatest.
    public var row: String {
        let spread = values.count > 1 ? "\(Figures.short(least))…\(Figures.short(greatest))" : ""
        return "| \(name) | \(values.isEmpty ? "–" : Figures.short(median)) | \(spread) | \(unit) |"
    }

    /// Reads `{"figures":[…]}`; what cannot be read is left out.
    public static func read(json text: String) -> [Figure] {
        var figures: [Figure] = []
        Array(text.utf8).withUnsafeBufferPointer { buffer in
            _ = try? JSONReader.readMembers(of: buffer) { key, value in
                guard key.equals("figures") else { return }
                value.forEachElement { if let figure = Figure(json: $0) { figures.append(figure) } }
            }
        }
        return figures
    }

    private init?(json: JSONSlice) {
        var name: String?
        var unit = ""
        var values: [Double] = []
        json.forEachMember { key, value in
            if key.equals("name") { name = value.string }
            if key.equals("unit") { unit = value.string ?? "" }
            if key.equals("values") { value.forEachElement { if let number = $0.double { values.append(number) } } }
        }
        guard let name else { return nil }
        self.init(name: name, unit: unit, values: values)
    }
}
