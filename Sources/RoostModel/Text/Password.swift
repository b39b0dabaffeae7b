/// The rules for passwords.
public enum Password {
    /// The password in NFC, so that every keyboard gives the same bytes; `weakPassword` outside ``Limits/passwordBytes``,
    /// `malformed` with a NUL.
    public static func validated(_ text: String) throws(RoostError) -> String {
        let text = normalized(text)
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        guard Limits.passwordBytes.contains(text.utf8.count) else { throw RoostError(.weakPassword) }
        return text
    }

    /// For comparing, where no rule is to be told: a password that breaks one is simply wrong.
    public static func normalized(_ text: String) -> String { text.nfc }
}
