/// Whether a label of a domain name can be told from other labels by looking: UTS #39, as far as it is about scripts.
enum LabelScripts {
    /// The script that all letters of `label` share, by its code of ISO 15924; nil where there are only digits and hyphens, or several
    /// scripts that may stand together.
    enum Verdict: Equatable {
        case noScript
        case single(String)
        case allowedMix
        case mixed
    }

    /// UTS #39 §5.2 "Highly Restrictive": one script, or Latin with those that Japanese, Chinese or Korean is written in.
    static func verdict(_ label: String) -> Verdict {
        let scripts = Set(label.unicodeScalars.compactMap(script))
        if scripts.count <= 1 { return scripts.first.map(Verdict.single) ?? .noScript }
        return usualMixes.contains(where: scripts.isSubset) ? .allowedMix : .mixed
    }

    private static let usualMixes: [Set<String>] = [
        ["Latn", "Hani", "Hira", "Kana"], ["Latn", "Hani", "Bopo"], ["Latn", "Hani", "Hang"],
    ]

    /// Whether every letter looks like a Latin one, with whatever accents; digits and hyphens do.
    static func looksLatin(_ label: String) -> Bool {
        label.nfd.allSatisfy { $0.isASCII || (0x300...0x36F).contains($0.value) || latinTwins.contains($0) }
    }

    /// Small letters of Cyrillic, Greek and Armenian that are drawn as Latin ones (from UTS #39's confusables).
    private static let latinTwins = Set("асԁеһіјкӏорԛѕԝхуѵαγικνορυχϲϳօոսհցզ".unicodeScalars)

    /// Latin letters that no alphabet in use has and that pass for others, and phonetic signs (UTS #39 "Technical").
    static func isTechnical(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Clicks: they pass for l and !.
        case 0x1C0...0x1C3: true
        case 0x253, 0x254, 0x256, 0x257, 0x259, 0x25B, 0x260, 0x263, 0x268, 0x269, 0x26F, 0x272, 0x275, 0x283, 0x289, 0x28B,
            0x292:
            false
        case 0x250...0x2AF, 0x1D00...0x1D7F: true
        default: false
        }
    }

    /// Nil for what goes with every script.
    private static func script(_ scalar: Unicode.Scalar) -> String? {
        switch scalar.value {
        case ..<0x41, 0xB7, 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x200C, 0x200D, 0x20D0...0x20FF, 0x302A...0x302D,
            0x3099, 0x309A, 0x30FB, 0x30FC:
            return nil
        default: break
        }
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle].first <= scalar.value { low = middle } else { high = middle }
        }
        return starts[low].script
    }

    /// Where each script begins; it goes on to the next one. Blocks of one script that lie apart have the same code. Made from
    /// Unicode 15's Scripts.txt, without what no domain name may have.
    private static let starts: [(first: UInt32, script: String)] = [
        (0x0, "Latn"), (0x370, "Grek"), (0x3E2, "Copt"), (0x3F0, "Grek"), (0x400, "Cyrl"), (0x530, "Armn"), (0x590, "Hebr"),
        (0x600, "Arab"), (0x700, "Syrc"), (0x750, "Arab"), (0x780, "Thaa"), (0x7C0, "Nkoo"), (0x800, "Samr"), (0x840, "Mand"),
        (0x860, "Syrc"), (0x870, "Arab"), (0x900, "Deva"), (0x980, "Beng"), (0xA00, "Guru"), (0xA80, "Gujr"), (0xB00, "Orya"),
        (0xB80, "Taml"), (0xC00, "Telu"), (0xC80, "Knda"), (0xD00, "Mlym"), (0xD80, "Sinh"), (0xE00, "Thai"), (0xE80, "Laoo"),
        (0xF00, "Tibt"), (0x1000, "Mymr"), (0x10A0, "Geor"), (0x1100, "Hang"), (0x1200, "Ethi"), (0x13A0, "Cher"),
        (0x1400, "Cans"), (0x1680, "Ogam"), (0x16A0, "Runr"), (0x1700, "Tglg"), (0x1720, "Hano"), (0x1740, "Buhd"),
        (0x1760, "Tagb"), (0x1780, "Khmr"), (0x1800, "Mong"), (0x18B0, "Cans"), (0x1900, "Limb"), (0x1950, "Tale"),
        (0x1980, "Talu"), (0x19E0, "Khmr"), (0x1A00, "Bugi"), (0x1A20, "Lana"), (0x1B00, "Bali"), (0x1B80, "Sund"),
        (0x1BC0, "Batk"), (0x1C00, "Lepc"), (0x1C50, "Olck"), (0x1C80, "Cyrl"), (0x1C90, "Geor"), (0x1CC0, "Sund"),
        (0x1CD0, "Deva"), (0x1D00, "Latn"), (0x1F00, "Grek"), (0x2000, "Latn"), (0x2C00, "Glag"), (0x2C60, "Latn"),
        (0x2C80, "Copt"), (0x2D00, "Geor"), (0x2D30, "Tfng"), (0x2D80, "Ethi"), (0x2DE0, "Cyrl"), (0x2E80, "Hani"),
        (0x3040, "Hira"), (0x30A0, "Kana"), (0x3100, "Bopo"), (0x3130, "Hang"), (0x3190, "Hani"), (0x31A0, "Bopo"),
        (0x31C0, "Hani"), (0x31F0, "Kana"), (0x3200, "Hani"), (0xA000, "Yiii"), (0xA4D0, "Lisu"), (0xA500, "Vaii"),
        (0xA640, "Cyrl"), (0xA6A0, "Bamu"), (0xA700, "Latn"), (0xA800, "Sylo"), (0xA840, "Phag"), (0xA880, "Saur"),
        (0xA8E0, "Deva"), (0xA900, "Kali"), (0xA930, "Rjng"), (0xA960, "Hang"), (0xA980, "Java"), (0xA9E0, "Mymr"),
        (0xAA00, "Cham"), (0xAA60, "Mymr"), (0xAA80, "Tavt"), (0xAAE0, "Mtei"), (0xAB00, "Ethi"), (0xAB30, "Latn"),
        (0xAB70, "Cher"), (0xABC0, "Mtei"), (0xAC00, "Hang"), (0xF900, "Hani"), (0xFB00, "Latn"), (0xFB13, "Armn"),
        (0xFB1D, "Hebr"), (0xFB50, "Arab"), (0xFE20, "Cyrl"), (0xFE70, "Arab"), (0xFF00, "Zzzz"), (0x1AFF0, "Kana"),
        (0x1B001, "Hira"), (0x1B120, "Kana"), (0x1B132, "Hira"), (0x1B155, "Kana"), (0x1B170, "Zzzz"), (0x1DF00, "Latn"),
        (0x1E000, "Zzzz"), (0x20000, "Hani"), (0x32000, "Zzzz"),
    ]
}
