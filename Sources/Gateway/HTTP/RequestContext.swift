import EdgeServer
import RoostModel

/// A request as its handler sees it: the head, the parts of the path by name, and the body's bytes.
struct RequestContext: Sendable {
    let head: HTTPRequestHead
    let parameters: [String: String]
    let body: [UInt8]

    var query: Query { Query(head) }

    // A malformed id in a path answers like an unknown one.

    var userID: UserID { get throws(RoostError) { try identifier("userId") } }
    var deviceID: DeviceID { get throws(RoostError) { try identifier("deviceId") } }
    var conversationID: ConversationID { get throws(RoostError) { try identifier("conversationId") } }

    var seq: Seq {
        get throws(RoostError) {
            guard let text = parameters["seq"], let seq = Seq(digits: text), seq > .zero else { throw .notFound }
            return seq
        }
    }

    private func identifier<Subject>(_ name: String) throws(RoostError) -> Identifier<Subject> {
        guard let text = parameters[name], let identifier = Identifier<Subject>(text) else { throw .notFound }
        return identifier
    }
}

extension Seq {
    /// Decimal digits only, without sign or leading zeros.
    init?(digits text: String) {
        guard let value = Int64(text), value >= 0, String(value) == text else { return nil }
        self.init(value)
    }
}

/// The checked values of a query. Where a name stands twice, the first counts.
struct Query: Sendable {
    private let head: HTTPRequestHead

    init(_ head: HTTPRequestHead) { self.head = head }

    func text(_ name: String) -> String? { head.queryValue(name) }

    /// `limit`: below 1 or no number is an error, above the maximum is cut.
    var limit: Int {
        get throws(RoostError) {
            guard let text = text("limit") else { return Limits.pageDefault }
            let digits = text.utf8
            guard !digits.isEmpty, digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
                throw RoostError(.badParameter, "limit is not a whole number")
            }
            // Too large for an Int is above the maximum too.
            let value = Int(text) ?? .max
            guard value >= 1 else { throw RoostError(.badParameter, "limit is below 1") }
            return min(value, Limits.pageMaximum)
        }
    }

    /// `cursor`; an empty one is none. The store that made it judges it.
    var cursor: String? {
        get throws(RoostError) {
            guard let text = text("cursor"), !text.isEmpty else { return nil }
            guard text.utf8.count <= Self.cursorBytes else { throw RoostError(.badCursor) }
            return text
        }
    }

    func seq(_ name: String) throws(RoostError) -> Seq? {
        guard let text = text(name) else { return nil }
        guard let seq = Seq(digits: text) else { throw RoostError(.badParameter, "\(name) is not a counter's value") }
        return seq
    }

    /// A text to search by, in NFC; nil for none, or nothing but white space.
    func words(_ name: String, maximum: Int = Limits.nameGraphemes) throws(RoostError) -> String? {
        guard let text = text(name)?.nfc, !MessageText.isBlank(text) else { return nil }
        guard text.count <= maximum else { throw RoostError(.badParameter, "\(name) is too long") }
        return text
    }

    func conversationID(_ name: String) throws(RoostError) -> ConversationID? {
        guard let text = text(name), !text.isEmpty else { return nil }
        guard let id = ConversationID(text) else { throw RoostError(.badParameter, "\(name) is no id") }
        return id
    }

    func flag(_ name: String) throws(RoostError) -> Bool? {
        switch text(name) {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw RoostError(.badParameter, "\(name) is neither true nor false")
        }
    }

    private static let cursorBytes = 1024
}
