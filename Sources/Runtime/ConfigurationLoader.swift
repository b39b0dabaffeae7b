/// Gathers the words of all sources and every fault in them. Pure: files and environment are handed in.
struct ConfigurationLoader {
    private struct Word {
        let text: String
        let source: String
    }

    var faults: [String] = []
    private(set) var wantsHelp = false
    private(set) var plainArguments: [String] = []
    private(set) var flags: [String: String] = [:]
    private let settings: [String: any DeclaredSetting]
    private let settingOfFlag: [String: any DeclaredSetting]
    private let alsoInFile: Set<String>
    private var fromFile: [String: Word] = [:]
    private var fromEnvironment: [String: Word] = [:]

    init(settings: [any DeclaredSetting], alsoInFile: Set<String>) {
        self.settings = Dictionary(settings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        settingOfFlag = Dictionary(settings.map { ($0.flag, $0) }, uniquingKeysWith: { first, _ in first })
        self.alsoInFile = alsoInFile
    }

    mutating func readArguments(_ arguments: [String]) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                plainArguments += rest
                return
            }
            if argument == "--help" || argument == "-h" {
                wantsHelp = true
                continue
            }
            guard argument.hasPrefix("--") else {
                plainArguments.append(argument)
                continue
            }
            let parts = argument.utf8.dropFirst(2).split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            let key = String(Substring(parts[0]))
            guard key == "config" || settingOfFlag[key] != nil else {
                // Its value, if it has one, cannot be told from an argument, and may be secret: neither is shown.
                faults.append("--\(Printable.text(key)): no such flag; --help lists them")
                if parts.count == 1, let next = rest.first, !next.hasPrefix("--") { rest.removeFirst() }
                continue
            }
            if parts.count == 2 {
                flags[key] = String(Substring(parts[1]))
            } else if let value = rest.popFirst() {
                flags[key] = value
            } else {
                faults.append("--\(key): a value must follow")
            }
        }
    }

    /// Variables that are not settings of this program are left alone: they may be another's.
    mutating func readEnvironment(_ environment: [String: String]) {
        for (name, text) in environment where settings[name] != nil {
            fromEnvironment[name] = Word(text: text, source: "the environment")
        }
    }

    /// Lines `KEY=VALUE`; blank lines and those that begin with `#` say nothing. A value may stand in double quotes.
    mutating func readFile(_ text: String, path: String) {
        var seen: Set<String> = []
        // By bytes: a Character of Swift may be "\r\n", or "=" with a combining mark.
        for (index, line) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map(Substring.init).enumerated() {
            let source = "\(Printable.text(path)) line \(index + 1)"
            let content = trimmed(line)
            if content.isEmpty || content.hasPrefix("#") { continue }
            guard let equals = content.utf8.firstIndex(of: 0x3D) else {
                faults.append("\(source): not KEY=VALUE")
                continue
            }
            let name = trimmed(content[..<equals])
            guard settings[name] != nil || alsoInFile.contains(name) else {
                faults.append("\(source): \(Printable.text(name)) is no setting; --help lists them")
                continue
            }
            if !seen.insert(name).inserted {
                faults.append("\(source): \(name) was given before")
                continue
            }
            var value = trimmed(content[content.utf8.index(after: equals)...])
            let isQuoted = value.utf8.count >= 2 && value.utf8.first == 0x22 && value.utf8.last == 0x22
            if isQuoted { value = String(decoding: value.utf8.dropFirst().dropLast(), as: UTF8.self) }
            fromFile[name] = Word(text: value, source: source)
        }
    }

    mutating func checkedValues() -> [String: any Sendable] {
        var values: [String: any Sendable] = [:]
        for setting in settings.values.sorted(by: { $0.name < $1.name }) {
            let flag = flags[setting.flag].map { Word(text: $0, source: "the flag --\(setting.flag)") }
            let standard = setting.defaultText.map { Word(text: $0, source: "the default") }
            guard let word = flag ?? fromEnvironment[setting.name] ?? fromFile[setting.name] ?? standard else {
                faults.append("\(setting.name): must be given; allowed: \(setting.allowed)")
                continue
            }
            if let value = setting.value(of: word.text) {
                values[setting.name] = value
            } else {
                let shown = setting.isSecret ? "the value" : "\"\(Printable.text(word.text))\""
                faults.append("\(setting.name): \(shown) from \(word.source) is not allowed; allowed: \(setting.allowed)")
            }
        }
        return values
    }
}
