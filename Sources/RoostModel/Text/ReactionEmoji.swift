/// One emoji, as a reaction: what UTS #51 calls an emoji sequence, in its fully qualified form.
///
/// Whether it is written with or without variation selectors, the value is the same: U+2764 and U+2764 U+FE0F are one. Taken are
/// single emoji, emoji with a skin tone, keycaps, flags, flags of regions, and sequences joined by U+200D of the kinds that exist.
/// Not taken: text and text presentation (U+FE0E), two emoji, digits without a keycap, single regional indicators, and the components
/// of emoji (skin tones and hair) on their own.
public struct ReactionEmoji: Hashable, Sendable, CustomStringConvertible {
    /// Fully qualified (UTS #51 ED-18).
    public let text: String

    /// The longest that exist have ten scalars.
    static let scalarLimit = 16

    public init?(_ text: String) {
        guard text.utf8.count <= 4 * Self.scalarLimit, let qualified = EmojiSequence.qualified(Array(text.unicodeScalars)) else {
            return nil
        }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: qualified)
        self.text = String(scalars)
    }

    /// The emoji, or `invalid` on `field`, or `required` where there is nothing.
    public static func validated(_ text: String, field: String = "emoji") throws(RoostError) -> ReactionEmoji {
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        guard !MessageText.isBlank(text) else { throw .invalid(field, .required) }
        guard let emoji = ReactionEmoji(text) else { throw .invalid(field, .invalid) }
        return emoji
    }

    public var description: String { text }
}

/// The grammar of UTS #51 §1.4.9.
private enum EmojiSequence {
    private static let joiner: Unicode.Scalar = "\u{200D}"
    private static let selector: Unicode.Scalar = "\u{FE0F}"
    private static let keycap: Unicode.Scalar = "\u{20E3}"
    private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"

    /// The fully qualified form of one emoji; nil where `scalars` is anything else.
    static func qualified(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar]? {
        guard let first = scalars.first else { return nil }
        if first.isASCII { return keycapSequence(scalars) }
        if isRegionalIndicator(first) { return scalars.count == 2 && isRegionalIndicator(scalars[1]) ? scalars : nil }
        if first == blackFlag, scalars.count > 1, isTag(scalars[1]) { return isRegionTags(scalars[1...]) ? scalars : nil }
        return joinedSequence(scalars)
    }

    private static func keycapSequence(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar]? {
        guard scalars[0].properties.isEmoji, scalars.last == keycap,
            scalars.count == 2 || (scalars.count == 3 && scalars[1] == selector)
        else { return nil }
        return [scalars[0], selector, keycap]
    }

    private static func joinedSequence(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar]? {
        let elements = scalars.split(separator: joiner, omittingEmptySubsequences: false)
        guard elements.count <= 4 else { return nil }
        var result: [Unicode.Scalar] = []
        for (index, element) in elements.enumerated() {
            guard let base = element.first, let qualified = qualifiedElement(element) else { return nil }
            if index == 0 {
                guard elements.count == 1 ? !isHair(base) : begins(base) else { return nil }
            } else {
                guard joined.contains(base) else { return nil }
                result.append(joiner)
            }
            result += qualified
        }
        return result
    }

    /// An emoji, with a selector only where it needs one, or with a skin tone.
    private static func qualifiedElement(_ element: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
        guard let base = element.first, isEmoji(base) else { return nil }
        var rest = element.dropFirst()
        if rest.first == selector { rest = rest.dropFirst() }
        if let tone = rest.first {
            guard rest.count == 1, tone.properties.isEmojiModifier, base.properties.isEmojiModifierBase else { return nil }
            return [base, tone]
        }
        return base.properties.isEmojiPresentation ? [base] : [base, selector]
    }

    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmoji && !scalar.isASCII && !scalar.properties.isEmojiModifier && !isRegionalIndicator(scalar)
    }

    private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool { (0x1F1E6...0x1F1FF).contains(scalar.value) }
    private static func isHair(_ scalar: Unicode.Scalar) -> Bool { (0x1F9B0...0x1F9B3).contains(scalar.value) }
    private static func isTag(_ scalar: Unicode.Scalar) -> Bool { (0xE0020...0xE007F).contains(scalar.value) }

    /// A region and its part, such as `gbsct`, in tag letters and digits, and the end.
    private static func isRegionTags(_ tags: ArraySlice<Unicode.Scalar>) -> Bool {
        guard tags.last?.value == 0xE007F, (4...7).contains(tags.count) else { return false }
        return tags.dropLast().allSatisfy { (0xE0061...0xE007A).contains($0.value) || (0xE0030...0xE0039).contains($0.value) }
    }

    /// What joined sequences begin with: people, and a few others. Any two emoji with U+200D between are one grapheme cluster, but most
    /// are shown as two.
    private static func begins(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isEmojiModifierBase || beginnings.contains(scalar)
    }

    /// As of Unicode 16: faces, animals, food, flags, things.
    private static let beginnings = Set(
        "\u{26D3}\u{2764}\u{1F344}\u{1F34B}\u{1F3F3}\u{1F3F4}\u{1F408}\u{1F415}\u{1F426}\u{1F43B}\u{1F441}\u{1F46F}\u{1F62E}\u{1F635}\u{1F636}\u{1F642}\u{1F9DE}\u{1F9DF}"
            .unicodeScalars)

    /// What joined sequences go on with, as of Unicode 16: signs, tools, hair, people of couples and families, colours.
    private static let joined = Set(
        """
        \u{2194}\u{2195}\u{2620}\u{2640}\u{2642}\u{2695}\u{2696}\u{26A7}\u{2708}\u{2744}\u{2764}\u{27A1}\u{2B1B}\u{1F308}\u{1F32B}\
        \u{1F33E}\u{1F373}\u{1F37C}\u{1F384}\u{1F393}\u{1F3A4}\u{1F3A8}\u{1F3EB}\u{1F3ED}\u{1F430}\u{1F466}\u{1F467}\u{1F468}\
        \u{1F469}\u{1F48B}\u{1F4A5}\u{1F4A8}\u{1F4AB}\u{1F4BB}\u{1F4BC}\u{1F525}\u{1F527}\u{1F52C}\u{1F5E8}\u{1F680}\u{1F692}\
        \u{1F7E9}\u{1F7EB}\u{1F91D}\u{1F9AF}\u{1F9B0}\u{1F9B1}\u{1F9B2}\u{1F9B3}\u{1F9BA}\u{1F9BC}\u{1F9BD}\u{1F9D1}\u{1F9D2}\
        \u{1FA70}\u{1FA79}\u{1FAEF}\u{1FAF2}
        """.unicodeScalars)
}
