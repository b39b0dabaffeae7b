import ConversationCore
import Ports
import RoostModel

/// The gateway's way into the table of rights: what a store answers with nothing, and what must be known before a body is looked at.
extension Backend {
    /// Why `user` may not, by how they stand to the conversation now.
    func refusal(
        of action: Rights.Action, in conversation: ConversationID, for user: UserID
    ) async throws(RoostError) -> RoostError? {
        guard let standing = try await ask({ try await conversations.standing(of: user, in: conversation) }) else {
            return .notFound
        }
        let code = Rights.refusal(of: action, for: Rights.Standing(kind: standing.kind, role: standing.role))
        return code.map { RoostError($0) }
    }

    func check(
        _ action: Rights.Action, in conversation: ConversationID, for user: UserID
    ) async throws(RoostError) {
        if let error = try await refusal(of: action, in: conversation, for: user) { throw error }
    }

    /// What the store answered, or why it answered nothing.
    func found<Value>(
        _ action: Rights.Action, in conversation: ConversationID, for user: UserID, _ question: () async throws -> Value?
    ) async throws(RoostError) -> Value {
        if let value = try await ask(question) { return value }
        throw try await refusal(of: action, in: conversation, for: user) ?? .notFound
    }

    func view(_ id: ConversationID, for user: UserID) async throws(RoostError) -> ConversationView {
        try await found(.see, in: id, for: user) { try await conversations.conversation(id, for: user) }
    }
}
