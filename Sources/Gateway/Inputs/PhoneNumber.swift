import RoostModel

/// A phone number as people write it: nothing is sent there, so it need not be in one form.
enum PhoneNumber {
    private static let maximumBytes = 32
    private static let leastDigits = 3

    /// Trimmed; digits, and between them `+ ( ) - . /` and spaces. `required` where there is nothing.
    static func validated(_ text: String, field: String = "phone") throws(RoostError) -> String {
        let trimmed = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        if trimmed.isEmpty { throw .invalid(field, .required) }
        guard trimmed.utf8.count <= maximumBytes else { throw .invalid(field, .tooLong) }
        let digits = trimmed.utf8.count { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let marks = trimmed.utf8.count { Array("+()-./ ".utf8).contains($0) }
        guard digits >= leastDigits, digits + marks == trimmed.utf8.count else { throw .invalid(field, .invalid) }
        return trimmed
    }
}
