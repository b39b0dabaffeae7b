import RoostModel

/// Who a mail is from: an address, with a name where wanted.
public struct MailAddress: Sendable, Equatable {
    public let name: String?
    public let address: String

    /// From `no-reply@chat.example` or `Chat <no-reply@chat.example>`; nil where it is neither.
    public init?(_ text: String) {
        var name: Substring?
        var address = text[...]
        if text.hasSuffix(">"), let mark = text.lastIndex(of: "<") {
            name = text[..<mark]
            address = text[text.index(after: mark)...].dropLast()
        }
        guard let email = Email(String(address)), !text.unicodeScalars.contains(where: HeaderText.isForbidden) else { return nil }
        self.address = email.value
        let trimmed = name.map { $0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed() }.map { String($0) }
        self.name = trimmed.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// What follows the `@`.
    var domain: String { String(address[address.index(after: address.lastIndex(of: "@")!)...]) }

    /// As it stands in a `From` field (RFC 5322 §3.4).
    var header: String {
        guard let name else { return address }
        if HeaderText.isPlain(name) {
            return "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\" <\(address)>"
        }
        return HeaderText.encoded(name, firstLimit: 60) + "\r\n <\(address)>"
    }
}
