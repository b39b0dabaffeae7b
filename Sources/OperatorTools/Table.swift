/// Rows in columns that line up, for a terminal or a pipe.
public struct Table: Sendable {
    public enum Side: Sendable { case left, right }

    private let columns: [(title: String, side: Side)]
    private var rows: [[String]] = []

    public init(_ columns: (String, Side)...) { self.columns = columns.map { ($0.0, $0.1) } }

    public mutating func add(_ cells: String...) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        rows.append(cells)
    }

    /// - Parameter style: colours the titles and, by their words, states.
    public func text(_ style: Style) -> String {
        let widths = columns.indices.map { index in
            max(columns[index].title.count, rows.map { $0[index].count }.max() ?? 0)
        }
        func line(_ cells: [String], _ paint: (String) -> String) -> String {
            var parts: [String] = []
            for (index, cell) in cells.enumerated() {
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                let isLast = index == cells.count - 1
                switch columns[index].side {
                case .left: parts.append(paint(cell) + (isLast ? "" : padding))
                case .right: parts.append(padding + paint(cell))
                }
            }
            return parts.joined(separator: "  ")
        }
        let head = line(columns.map(\.title), style.faint)
        return ([head] + rows.map { line($0, style.state) }).joined(separator: "\n") + "\n"
    }
}

/// Colours, where the output is a terminal.
public struct Style: Sendable {
    public let isColoured: Bool

    public init(isColoured: Bool) { self.isColoured = isColoured }

    public func faint(_ text: String) -> String { paint(text, "2") }
    public func good(_ text: String) -> String { paint(text, "32") }
    public func warning(_ text: String) -> String { paint(text, "33") }
    public func bad(_ text: String) -> String { paint(text, "31") }

    /// Words that name a state are coloured by what they mean.
    public func state(_ text: String) -> String {
        switch text {
        case "up", "done", "yes": good(text)
        case "suspect", "cordoned", "draining", "drained", "paused", "running", "cancelled": warning(text)
        case "dead", "failed": bad(text)
        default: text
        }
    }

    private func paint(_ text: String, _ code: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Figures for people.
public enum Figures {
    /// `1.5 GiB`.
    public static func bytes(_ count: Double?) -> String {
        guard var value = count else { return "-" }
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024 { return unit == "B" ? "\(Int(value)) B" : "\(decimals(value, 1)) \(unit)" }
            value /= 1024
        }
        return "\(decimals(value, 1)) TiB"
    }

    public static func decimals(_ value: Double, _ count: Int) -> String {
        let factor = (0..<count).reduce(1.0) { power, _ in power * 10 }
        let rounded = (value * factor).rounded() / factor
        if count == 0 { return "\(Int(rounded))" }
        let text = "\(rounded)"
        let fraction = text.split(separator: ".").last.map(String.init) ?? "0"
        return fraction.count > count ? "\(text.split(separator: ".")[0]).\(fraction.prefix(count))" : text
    }

    public static func number(_ value: Double?, _ count: Int = 1) -> String { value.map { decimals($0, count) } ?? "-" }

    /// `####------  40 %`.
    public static func bar(_ done: Int, of all: Int, width: Int = 24) -> String {
        let share = all == 0 ? 1 : min(1, max(0, Double(done) / Double(all)))
        let filled = Int((share * Double(width)).rounded())
        let percent = "\(Int((share * 100).rounded()))"
        return String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
            + String(repeating: " ", count: 4 - percent.count) + "\(percent) %"
    }
}
