/// The rules for the text of a message.
public enum MessageText {
    /// The text in NFC, or why it cannot be sent: `emptyMessage` where it is white space only, `tooLong` on `text` beyond
    /// ``Limits/textGraphemes`` or ``Limits/textBytes``, `malformed` with a NUL.
    public static func validated(_ text: String) throws(RoostError) -> String {
        let text = try validatedCaption(text)
        guard !isBlank(text) else { throw RoostError(.emptyMessage) }
        return text
    }

    /// As ``validated(_:)``, but may be blank: what stands under a picture, or an edited text until it is known of what.
    public static func validatedCaption(_ text: String) throws(RoostError) -> String {
        let text = text.nfc
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        // A grapheme cluster has at least one byte, so short texts need no counting.
        guard text.utf8.count <= Limits.textBytes, text.utf8.count <= Limits.textGraphemes || text.count <= Limits.textGraphemes
        else { throw .invalid("text", .tooLong) }
        return text
    }

    /// Whether there is nothing but white space, zero-width spaces included.
    public static func isBlank(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isWhitespace || scalar == "\u{200B}" || scalar == "\u{FEFF}" || scalar == "\u{2060}"
        }
    }
}

/// The rules for the name a client gives to a message.
public enum ClientID {
    /// The same string; `required` where empty, `tooLong` beyond ``Limits/clientIDCharacters`` characters.
    public static func validated(_ text: String) throws(RoostError) -> String {
        guard !text.isEmpty else { throw .invalid("clientId", .required) }
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        guard text.utf8.count <= Limits.clientIDCharacters || isShort(text) else { throw .invalid("clientId", .tooLong) }
        return text
    }

    /// Characters are grapheme clusters; the bound on bytes keeps a single one from being endless.
    private static func isShort(_ text: String) -> Bool {
        text.utf8.count <= 16 * Limits.clientIDCharacters && text.count <= Limits.clientIDCharacters
    }
}
