import RoostModel
// Placeholders until the model has these rules.
enum EmailAddress {
    static func normalised(_ text: String, field: String) throws(RoostError) -> String {
        let text = text.split(separator: " ").joined().lowercased()
        guard text.contains("@") else { throw .invalid(field, .invalid) }
        return text
    }
}
enum Name {
    static func normalised(_ text: String, field: String) throws(RoostError) -> String {
        let text = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !MessageText.isBlank(text) else { throw .invalid(field, .invalid) }
        guard text.count <= 80 else { throw .invalid(field, .tooLong) }
        return text
    }
}
enum PhoneNumber { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum AboutText { static func normalised(_ t: String, field: String) throws(RoostError) -> String { t } }
enum Password {
    static func normalised(_ text: String) throws(RoostError) -> String {
        guard Limits.passwordBytes.contains(text.utf8.count) else { throw RoostError(.weakPassword) }
        return text
    }
}
