import Foundation
import Testing

/// docs/asyncapi.yaml names every op and every event, and no others.
///
/// Both lists are read from the sources that hold the words, so that a new one is noticed without this test knowing it.
@Suite struct AsyncAPITests {
    /// Of the contract, but not sent yet.
    private static let planned: Set<String> = ["media"]

    private func lines(_ path: String) throws -> [Substring] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8).split(separator: "\n")
    }

    /// The words that follow `mark`.
    private func words(after mark: String, in path: String) throws -> Set<String> {
        Set(
            try lines(path).compactMap { line in
                line.firstRange(of: mark).map { String(line[$0.upperBound...].prefix { $0.isLetter }) }
            })
    }

    private func described(_ key: String) throws -> Set<String> {
        try words(after: "\(key): { const: ", in: "docs/asyncapi.yaml")
    }

    /// `ClientOperation.name`: `case .hello: "hello"`.
    @Test func everyOperationIsNamed() throws {
        let ops = Set(
            try lines("Sources/RoostProtocol/Socket/ClientFrameEncoding.swift").compactMap { line -> String? in
                let parts = line.split(separator: ": \"")
                guard parts.count == 2, parts[0].firstRange(of: "case .") != nil else { return nil }
                return String(parts[1].prefix { $0 != "\"" })
            })
        #expect(ops.isSuperset(of: ["hello", "send", "ping"]))
        #expect(try ops == described("op"))
    }

    /// The encoders of `ServerEvent`: each begins with `event("…"`.
    @Test func everyEventIsNamed() throws {
        let events = try words(after: "event(\"", in: "Sources/RoostProtocol/Socket/ServerEvent.swift")
        let described = try described("event")
        #expect(events.isSuperset(of: ["ready", "message", "goaway"]))
        #expect(events.subtracting(described).sorted() == [], "events that are not described")
        #expect(described.subtracting(events).subtracting(Self.planned).sorted() == [], "described, but never sent")
    }
}
