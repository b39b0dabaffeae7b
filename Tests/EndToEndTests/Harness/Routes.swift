import Foundation

/// The contract's routes below a conversation, for tests that walk over all of them.
enum Routes {
    struct Route: Sendable, CustomStringConvertible {
        let method: String
        /// `MEMBER` stands for a member's id.
        let path: String
        let body: JSON?

        init(_ method: String, _ path: String, _ body: JSON? = nil) {
            self.method = method
            self.path = path
            self.body = body
        }

        var description: String { "\(method) \(path)" }

        func call(_ person: Person, in chat: String, member: String) async throws -> Answer {
            // Searching names its conversation elsewhere.
            if path.hasPrefix("/v1/") { return try await person.call(method, path + chat, body) }
            return try await person.call(method, in: chat, path.replacing("MEMBER", with: member), filled(member))
        }

        private func filled(_ member: String) -> JSON? {
            guard let body, !body["userIds"].isNull else { return body }
            return ["userIds": [.string(member)]]
        }
    }

    /// Each with a body that would be right. Those that destroy stand last.
    static let conversation = [
        Route("GET", ""), Route("PATCH", "", ["title": "T"]), Route("PATCH", "/settings", ["pinned": true]),
        Route("POST", "/join"), Route("GET", "/members"), Route("POST", "/members", ["userIds": ["MEMBER"]]),
        Route("PATCH", "/members/MEMBER", ["role": "admin"]), Route("GET", "/messages"), Route("GET", "/messages?around=2"),
        Route("GET", "/changes?after=0"), Route("POST", "/messages", ["clientId": "x", "type": "text", "text": "hi"]),
        Route("PATCH", "/messages/2", ["text": "changed"]), Route("PUT", "/messages/2/reactions/%F0%9F%91%8D"),
        Route("DELETE", "/messages/2/reactions/%F0%9F%91%8D"), Route("GET", "/messages/2/receipts"),
        Route("POST", "/read", ["seq": 1]), Route("POST", "/delivered", ["seq": 1]),
        Route("GET", "/v1/search/messages?query=secret&conversationId="), Route("DELETE", "/messages/2?scope=me"),
        Route("DELETE", "/messages/2?scope=everyone"), Route("DELETE", "/members/MEMBER"), Route("DELETE", ""),
    ]

    /// The socket's operations on a conversation, without the conversation.
    static let operations: [(op: String, fields: JSON)] = [
        ("send", ["clientId": "x", "type": "text", "text": "hi"]), ("read", ["seq": 1]), ("delivered", ["seq": 1]),
        ("typing", ["active": true]),
    ]
}
