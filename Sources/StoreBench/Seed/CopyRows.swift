import RoostModel

/// Rows in COPY's text format, handed on in pieces of about a megabyte.
struct CopyRows {
    private var bytes: [UInt8] = []
    private var isFirst = true
    private let send: ([UInt8]) throws -> Void

    init(send: @escaping ([UInt8]) throws -> Void) { self.send = send }

    mutating func end() throws {
        bytes.append(UInt8(ascii: "\n"))
        isFirst = true
        if bytes.count > 1 << 20 { try flush() }
    }

    mutating func flush() throws {
        if bytes.isEmpty { return }
        try send(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func begin() {
        if !isFirst { bytes.append(UInt8(ascii: "\t")) }
        isFirst = false
    }

    mutating func null() {
        begin()
        bytes.append(contentsOf: "\\N".utf8)
    }

    mutating func add(_ text: String) {
        begin()
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            case 0: break
            default: bytes.append(byte)
            }
        }
    }

    mutating func add(_ number: Int64) {
        begin()
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    mutating func add(_ flag: Bool) {
        begin()
        bytes.append(UInt8(ascii: flag ? "t" : "f"))
    }

    mutating func add<Subject>(_ id: Identifier<Subject>) {
        begin()
        bytes.append(contentsOf: id.description.utf8)
    }

    mutating func add(_ time: Timestamp) {
        begin()
        bytes.append(
            contentsOf: [UInt8](unsafeUninitializedCapacity: 24) { buffer, count in
                time.write(to: buffer.baseAddress!)
                count = 24
            })
    }

    mutating func add(_ text: String?) { if let text { add(text) } else { null() } }
    mutating func add(_ number: Int64?) { if let number { add(number) } else { null() } }
    mutating func add(_ time: Timestamp?) { if let time { add(time) } else { null() } }
    mutating func add<Subject>(_ id: Identifier<Subject>?) { if let id { add(id) } else { null() } }

    /// As a `tsvector` without positions.
    mutating func add(words: [String]) {
        add(
            words.map { word in
                var quoted = "'"
                for scalar in word.unicodeScalars {
                    if scalar == "'" || scalar == "\\" { quoted.unicodeScalars.append(scalar) }
                    quoted.unicodeScalars.append(scalar)
                }
                return quoted + "'"
            }.joined(separator: " "))
    }
}
