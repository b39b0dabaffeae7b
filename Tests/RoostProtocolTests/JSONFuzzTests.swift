import Foundation
import RoostModel
import TestSupport
import Testing

@testable import RoostProtocol

/// Random documents and random damage, against Foundation where both have an opinion.
@Suite struct JSONFuzzTests {
    /// A document and its text, with all sorts of white space and escapes.
    private static func document(_ random: inout SeededRandom, depth: Int) -> (JSONValue, String) {
        func space() -> String { ["", "", "", " ", "\n", "\t\r"].randomElement(using: &random)! }
        switch Int.random(in: 0..<(depth == 0 ? 5 : 7), using: &random) {
        case 0: return (.null, "null")
        case 1: return (.bool(true), "true")
        case 2: return (.bool(false), "false")
        case 3:
            let text = ["0", "-1", "12", "-0.5", "3e5", "1.25E-2", "9007199254740991", "-9223372036854775808"].randomElement(
                using: &random)!
            return (.number(text), text)
        case 4:
            let (value, text) = string(&random)
            return (.string(value), text)
        case 5:
            let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in document(&random, depth: depth - 1) }
            return (.array(elements.map(\.0)), "[" + space() + elements.map(\.1).joined(separator: space() + ",") + "]")
        default:
            var members: [String: JSONValue] = [:]
            var parts: [String] = []
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let (key, keyText) = string(&random)
                guard members[key] == nil else { continue }
                let (value, text) = document(&random, depth: depth - 1)
                members[key] = value
                parts.append(space() + keyText + space() + ":" + space() + text)
            }
            return (.object(members), "{" + parts.joined(separator: ",") + space() + "}")
        }
    }

    private static func string(_ random: inout SeededRandom) -> (String, String) {
        var value = ""
        var text = "\""
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let (character, written): (String, String) =
                [
                    ("a", "a"), ("\"", #"\""#), ("\\", #"\\"#), ("/", #"\/"#), ("\n", #"\n"#), ("\u{1}", #"\u0001"#), ("é", "é"),
                    ("é", #"\u00E9"#), ("世", "世"), ("😀", #"\uD83D\uDE00"#), ("😀", "😀"), ("\u{2028}", "\u{2028}"),
                    ("\u{8}", #"\b"#),
                    ("\u{7F}", "\u{7F}"), ("\u{FFFF}", #"\uffff"#),
                ].randomElement(using: &random)!
            value += character
            text += written
        }
        return (value, text + "\"")
    }

    private static func value(_ object: Any) -> JSONValue? {
        switch object {
        case is NSNull: return .null
        case let text as String: return .string(text)
        case let elements as [Any]: return .array(elements.compactMap(value))
        case let members as [String: Any]: return .object(members.compactMapValues(value))
        default: return nil
        }
    }

    /// The same without numbers and booleans, which Foundation does not keep apart.
    private static func skeleton(_ value: JSONValue) -> JSONValue? {
        switch value {
        case .null, .string: value
        case .bool, .number: nil
        case .array(let elements): .array(elements.compactMap(skeleton))
        case .object(let members): .object(members.compactMapValues(skeleton))
        }
    }

    /// Foundation refuses numbers that a double cannot hold; the grammar does not.
    private static func fitsDoubles(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool, .string: true
        case .number: value.double.map { $0 == 0 || $0.isNormal } ?? false
        case .array(let elements): elements.allSatisfy(fitsDoubles)
        case .object(let members): members.values.allSatisfy(fitsDoubles)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func randomDocumentsAreReadAsFoundationReadsThem(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<50 {
            let (expected, text) = Self.document(&random, depth: 4)
            let parsed = try JSONValue(Array(text.utf8))
            #expect(parsed == expected, "\(text)")
            var writer = JSONWriter()
            parsed.write(to: &writer)
            #expect(try JSONValue(writer.bytes) == expected)
            let foundation = try JSONSerialization.jsonObject(with: Data(writer.bytes), options: .fragmentsAllowed)
            if let value = Self.value(foundation) { #expect(value == Self.skeleton(expected)) }
        }
    }

    /// Damaged documents: never a crash, never invalid UTF-8 accepted, and nothing accepted that Foundation refuses.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func damageIsNeverAcceptedWhereFoundationRefuses(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<150 {
            var bytes = Array(Self.document(&random, depth: 4).1.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
                case 1 where position < bytes.count: bytes.remove(at: position)
                case 2 where position < bytes.count:
                    bytes[position] = Array(#"{}[]",:\u0e-.1"#.utf8).randomElement(using: &random)!
                default: bytes.append(contentsOf: bytes.prefix(4))
                }
            }
            guard let value = try? JSONValue(bytes) else { continue }
            #expect(String(validating: bytes, as: UTF8.self) != nil)
            guard Self.fitsDoubles(value) else { continue }
            #expect((try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil, "\(bytes)")
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func damagedFramesNeverCrash(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let frames =
            ClientFrameTests.operations.map { ClientFrame(id: FrameID(7), operation: $0).json() } + [
                ServerEvent.message(Sample.message()), ServerEvent.conversation(Sample.view),
                ServerAnswer.failed(nil, .unavailable),
            ]
        for _ in 0..<400 {
            var bytes = frames.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let position = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[position] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.removeSubrange(position..<min(bytes.count, position + Int.random(in: 1...3, using: &random)))
                    if bytes.isEmpty { bytes = [0] }
                }
            }
            let isText = String(validating: bytes, as: UTF8.self) != nil
            switch ClientFrame.parse(bytes) {
            case .frame: #expect(isText)
            case .rejected(_, _, let isUnreadable): #expect(isText || isUnreadable)
            }
            _ = try? ServerFrame.decode(bytes)
        }
        for _ in 0..<400 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            guard case .rejected = ClientFrame.parse(bytes) else {
                Issue.record("noise was taken for a frame")
                continue
            }
        }
    }

    /// Sequences of RFC 3629 §4 that look like UTF-8.
    @Test(
        arguments: [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xE2, 0x82], [0xFF], [0xC3],
        ] as [[UInt8]]) func whatOnlyLooksLikeUTF8IsRefused(_ sequence: [UInt8])
    {
        #expect(throws: JSONFault.self) { try JSONValue([0x22] + sequence + [0x22]) }
        #expect(throws: JSONFault.self) { try JSONValue(Array("\"é".utf8) + sequence) }
    }
}
