import RoostProtocol

/// Where a command writes, and how: text for people, JSON for programs.
public struct Console: Sendable {
    public let style: Style
    /// Whether the output is to be read by programs.
    public let isJSON: Bool
    /// Whether lines can be drawn over.
    public let isTerminal: Bool
    private let write: @Sendable (String) -> Void

    public init(style: Style, isJSON: Bool, isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
        self.style = style
        self.isJSON = isJSON
        self.isTerminal = isTerminal
        self.write = write
    }

    public func print(_ text: String) { write(text) }

    public func line(_ text: String) { write(text + "\n") }

    /// The value as it came, on one line.
    public func json(_ value: JSONValue) {
        write(String(decoding: JSONWriter.encoded { value.write(to: &$0) }, as: UTF8.self) + "\n")
    }

    /// Draws a line over the one before, on a terminal; nothing elsewhere.
    public func progress(_ text: String) {
        if isTerminal && !isJSON { write("\r\u{1B}[K" + text) }
    }

    public func endProgress() {
        if isTerminal && !isJSON { write("\r\u{1B}[K") }
    }
}

extension JSONValue {
    var items: [JSONValue] { self["items"]?.array ?? [] }

    func text(_ key: String) -> String { self[key]?.string ?? "-" }

    func count(_ key: String) -> String { self[key]?.integer.map { "\($0)" } ?? "-" }

    func figure(_ key: String, _ decimals: Int = 1) -> String { Figures.number(self[key]?.double, decimals) }

    static func number(_ value: Int) -> JSONValue { .number("\(value)") }
}
