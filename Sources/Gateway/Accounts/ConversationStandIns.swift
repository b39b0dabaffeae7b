import Ports
import RoostModel

// Stands for what conversations cannot be told yet: leaving, and reading again what was written elsewhere. To be deleted, as it is,
// when ``ChatCommands`` and ``ConversationStore`` have these of their own; nothing else has to change.

enum ConversationAction { case removeMember(UserID), refresh }
struct Membership { let conversationID: ConversationID; let kind: ConversationKind }
extension ChatCommands {
    func perform(_ action: ConversationAction, in conversation: ConversationID, by user: UserID) async throws(RoostError) {}
    func refresh(_ conversation: ConversationID, for user: UserID) async throws(RoostError) {}
}
extension ConversationStore {
    func memberships(of user: UserID) async throws(StoreError) -> [Membership] {
        try await conversations(for: user, cursor: nil, limit: 200, at: .now).items.map {
            .init(conversationID: $0.id, kind: $0.kind)
        }
    }
    func directConversation(of user: UserID, and other: UserID) async throws(StoreError) -> ConversationID? { nil }
}
extension ClusterSignals {
    func conversationChanged(_ conversation: ConversationID, for members: [UserID]) {
        conversationOpened(conversation, members: members)
    }
}
