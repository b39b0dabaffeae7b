/// The rules for what is shown as a name, title or description.
public enum DisplayText {
    /// A name or title on one line: NFC, trimmed, line breaks, tabs and blank signs as spaces, without controls, bidi controls and
    /// invisible characters; joiners, variation selectors and tags stay where they shape what is seen.
    ///
    /// Fails on `field` with `required` where it was empty or blank, `invalid` where nothing visible is left of it, `tooLong` beyond
    /// `maximum` grapheme clusters; `malformed` with a NUL.
    public static func name(
        _ text: String, field: String, maximum: Int = Limits.nameGraphemes
    ) throws(RoostError) -> String {
        guard !MessageText.isBlank(text) else { throw .invalid(field, .required) }
        let cleaned = try clean(text, keepingLines: false)
        guard hasVisible(cleaned) else { throw .invalid(field, .invalid) }
        return try bounded(cleaned, field: field, maximum: maximum)
    }

    /// As ``name(_:field:maximum:)``, up to ``Limits/titleGraphemes``.
    public static func title(_ text: String, field: String = "title") throws(RoostError) -> String {
        try name(text, field: field, maximum: Limits.titleGraphemes)
    }

    /// A description of several lines; nil where nothing visible is left of it.
    public static func about(_ text: String, field: String = "about") throws(RoostError) -> String? {
        let cleaned = try clean(text, keepingLines: true)
        guard hasVisible(cleaned) else { return nil }
        return try bounded(cleaned, field: field, maximum: Limits.aboutGraphemes)
    }

    private static func bounded(_ text: String, field: String, maximum: Int) throws(RoostError) -> String {
        // A grapheme cluster can hold any number of marks: the bound on bytes leaves room for the longest emoji only.
        guard text.utf8.count <= maximum || (text.utf8.count <= 32 * maximum && text.count <= maximum) else {
            throw .invalid(field, .tooLong)
        }
        return text
    }

    private static func clean(_ text: String, keepingLines: Bool) throws(RoostError) -> String {
        guard !text.utf8.contains(0) else { throw RoostError(.malformed, "the character U+0000") }
        let source = Array(text.nfc.unicodeScalars)
        var kept = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        var tagsEnd = 0
        for (index, scalar) in source.enumerated() {
            let next = index + 1 < source.count ? source[index + 1] : nil
            let result: Unicode.Scalar
            switch CharacterRole(scalar) {
            case .carriageReturn:
                if next == "\n" { continue }
                result = keepingLines ? "\n" : " "
            case .lineBreak: result = keepingLines ? "\n" : " "
            case .tab, .blank: result = " "
            case .invisible: continue
            case .joiner:
                guard let previous, shapes(after: previous, before: next) else { continue }
                result = scalar
            case .selector:
                guard let previous, varies(previous, by: scalar, before: next) else { continue }
                result = scalar
            case .tag:
                // Only as part of a whole flag: tags could spell out a hidden text.
                if index > 0, source[index - 1] == "\u{1F3F4}" { tagsEnd = endOfFlag(source[index...]) }
                guard index < tagsEnd else { continue }
                result = scalar
            case .plain: result = scalar
            }
            kept.append(result)
            previous = result
        }
        // What was removed may have kept apart what composes.
        return trimmed(String(kept).nfc)
    }

    /// Whether a joiner between these changes how they look: scripts that join or stack, and emoji. After a virama one may end the
    /// word.
    private static func shapes(after previous: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
        if previous.properties.canonicalCombiningClass == .virama { return true }
        guard let next else { return false }
        if joins(previous) && joins(next) { return true }
        let follows = isEmoji(previous) || previous == "\u{FE0F}" || previous.properties.isEmojiModifier
        return follows && isEmoji(next)
    }

    private static func joins(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0600...0x0DFF, 0x0F00...0x109F, 0x1700...0x18AF, 0x1900...0x1C4F, 0xA800...0xAAFF, 0xABC0...0xABFF,
            0x10A00...0x11FFF, 0x1E900...0x1E95F:
            scalar.properties.isAlphabetic || scalar.properties.generalCategory == .nonspacingMark
                || scalar.properties.generalCategory == .spacingMark
        default: false
        }
    }

    /// Whether `selector` chooses another form of `base`: kinds of which Unicode lists some (StandardizedVariants.txt,
    /// emoji-variation-sequences.txt, the Ideographic Variation Database).
    private static func varies(_ base: Unicode.Scalar, by selector: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
        guard CharacterRole(base) == .plain, !base.properties.isWhitespace else { return false }
        switch selector.value {
        case 0xFE0E, 0xFE0F: return isEmoji(base) || (base.properties.isEmoji && next == "\u{20E3}")
        case 0xE0100...0xE01EF: return base.properties.isIdeographic
        case 0x180B...0x180D, 0x180F: return (0x1820...0x18AF).contains(base.value)
        // Mathematical signs, ideographs, and letters of a few scripts of Asia.
        default: return base.value >= 0x1000 && !isEmoji(base)
        }
    }

    /// Where the tags of a region's flag end, or the slice's start where they are none: a region and its part in letters and digits, and
    /// the end (UTS #51 §1.4.9).
    private static func endOfFlag(_ scalars: ArraySlice<Unicode.Scalar>) -> Int {
        let tags = scalars.prefix { (0xE0030...0xE0039).contains($0.value) || (0xE0061...0xE007A).contains($0.value) }
        guard (3...6).contains(tags.count), tags.endIndex < scalars.endIndex, scalars[tags.endIndex].value == 0xE007F else {
            return scalars.startIndex
        }
        return tags.endIndex + 1
    }

    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool { scalar.value > 0x7F && scalar.properties.isEmoji }

    static func hasVisible(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            !scalar.properties.isWhitespace && !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Without white space at either end.
    static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}

/// What becomes of a character in a name.
private enum CharacterRole {
    case plain, carriageReturn, lineBreak, tab, blank, invisible, joiner, selector, tag

    init(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x0D: self = .carriageReturn
        case 0x0A, 0x0B, 0x0C, 0x85, 0x2028, 0x2029: self = .lineBreak
        case 0x09: self = .tab
        case 0x20...0x7E: self = .plain
        case 0x200C, 0x200D: self = .joiner
        case 0xFE00...0xFE0F, 0xE0100...0xE01EF, 0x180B...0x180D, 0x180F: self = .selector
        case 0xE0020...0xE007F: self = .tag
        // Signs that are blank: a Braille cell without dots, a note without a head, two Egyptian ones.
        case 0x2800, 0x1D159, 0x13441, 0x13442: self = .blank
        // Interlinear annotation.
        case 0xFFF9...0xFFFB: self = .invisible
        default:
            // Format characters that shape nothing, bidi controls among them, are all ignorable by default.
            let properties = scalar.properties
            self = properties.generalCategory == .control || properties.isDefaultIgnorableCodePoint ? .invisible : .plain
        }
    }
}
