import EdgeServer
import Ports
import RoostModel
import RoostProtocol
import Runtime

/// All that is held about a person, as one JSON object that is made while it is sent: memory holds a page at a time, however much there
/// is. docs/protocol.md has its form.
///
/// Pulled by one task at a time, each pull after the last has returned.
final class AccountExport: @unchecked Sendable {
    /// Of messages, which may be long.
    private static let messages = 100
    private static let others = 200

    /// What comes next. A step answers one piece, and says which step follows.
    private enum Step {
        case head
        case contacts(cursor: String?)
        case blocks(cursor: String?)
        case media(after: MediaID?)
        case conversation(Int)
        case messages(Int, after: Seq)
        case reactions(Int, after: OwnReaction?)
        case hidden(Int, after: Seq)
        case tail
        case end
    }

    private let backend: Backend
    private let store: any ExportStore
    private let user: User
    private let at: Timestamp
    private let slot: ExportSlots.Slot
    private var step = Step.head
    /// Whether an element stands in the array that is being written.
    private var needsComma = false
    private var conversations: [(id: ConversationID, isMember: Bool)] = []

    init(of user: User, backend: Backend, store: any ExportStore, at time: Timestamp, slot: ExportSlots.Slot) {
        self.user = user
        self.backend = backend
        self.store = store
        self.at = time
        self.slot = slot
    }

    func response() -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: [("Content-Type", "application/json")],
            body: .stream(HTTPBodyProducer { [self] in try await next() }))
    }

    /// The next piece; nil at the end.
    private func next() async throws -> [UInt8]? {
        switch step {
        case .head: return try await head()
        case .contacts(let cursor):
            let page = try await backend.contacts.contacts(of: user.id, cursor: cursor, limit: Self.others)
            step = page.nextCursor.map { .contacts(cursor: $0) } ?? .blocks(cursor: nil)
            return part(page.items, isLast: page.nextCursor == nil, "],\"blocks\":[") { $0.contact($1, presence: nil) }
        case .blocks(let cursor):
            let page = try await backend.contacts.blocks(by: user.id, cursor: cursor, limit: Self.others)
            step = page.nextCursor.map { .blocks(cursor: $0) } ?? .media(after: nil)
            return part(page.items, isLast: page.nextCursor == nil, "],\"media\":[") { $0.block($1) }
        case .media(let after):
            let items = try await store.ownMedia(of: user.id, after: after, limit: Self.others)
            let isLast = items.count < Self.others
            step = isLast ? .conversation(0) : .media(after: items.last?.id)
            return part(items, isLast: isLast, "],\"conversations\":[") { $0.media($1) }
        case .conversation(let index):
            guard index < conversations.count else {
                step = .tail
                return []
            }
            return try await conversation(index)
        case .messages(let index, let after):
            let items = try await store.ownMessages(
                of: user.id, in: conversations[index].id, after: after, limit: Self.messages)
            let isLast = items.count < Self.messages
            step = isLast ? .reactions(index, after: nil) : .messages(index, after: items.last?.message.seq ?? after)
            return part(items, isLast: isLast, "],\"reactions\":[") { $0.message($1.message, delivery: $1.delivery) }
        case .reactions(let index, let after):
            let items = try await store.ownReactions(
                of: user.id, in: conversations[index].id, after: after, limit: Self.others)
            let isLast = items.count < Self.others
            step = isLast ? .hidden(index, after: .zero) : .reactions(index, after: items.last)
            return part(items, isLast: isLast, "],\"hidden\":[") { writer, reaction in
                writer.object {
                    $0.member("seq", reaction.seq)
                    $0.member("emoji", reaction.emoji)
                    $0.member("at", reaction.at)
                }
            }
        case .hidden(let index, let after):
            let items = try await store.hiddenMessages(
                of: user.id, in: conversations[index].id, after: after, limit: Self.others)
            let isLast = items.count < Self.others
            step = isLast ? .conversation(index + 1) : .hidden(index, after: items.last ?? after)
            defer { if isLast { needsComma = true } }
            return part(items, isLast: isLast, "]}") { $0.integer($1.value) }
        case .tail:
            step = .end
            return Array("]}".utf8)
        case .end: return nil
        }
    }

    // MARK: Parts

    /// Elements of the array that is being written, and what stands after it.
    private func part<Item>(
        _ items: [Item], isLast: Bool, _ close: StaticString, _ write: (inout JSONWriter, Item) -> Void
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for item in items {
            if needsComma { bytes.append(UInt8(ascii: ",")) }
            needsComma = true
            bytes += JSONWriter.written { write(&$0, item) }
        }
        if isLast {
            needsComma = false
            bytes += Array(close.description.utf8)
        }
        return bytes
    }

    private func head() async throws -> [UInt8] {
        let devices = try await backend.accounts.devices(of: user.id)
        conversations =
            try await backend.conversations.memberships(of: user.id).map { ($0.conversationID, true) }
            + store.leftConversations(of: user.id).map { ($0, false) }
        step = .contacts(cursor: nil)
        return opened(thenArray: "contacts") { writer in
            writer.member("exportedAt", at)
            writer.key("user")
            writer.me(user, presence: nil)
            writer.key("devices")
            writer.array(devices) { $0.device($1, isCurrent: false) }
        }
    }

    private func conversation(_ index: Int) async throws -> [UInt8] {
        let (id, isMember) = conversations[index]
        let view = isMember ? try await backend.conversations.conversation(id, for: user.id) : nil
        let me = isMember ? try await backend.conversations.member(user.id, of: id, for: user.id) : nil
        step = .messages(index, after: .zero)
        let comma: [UInt8] = needsComma ? [UInt8(ascii: ",")] : []
        needsComma = false
        return comma
            + opened(thenArray: "messages") { writer in
                writer.member("conversationId", id)
                writer.member("isMember", view != nil)
                writer.member("kind", view?.kind.rawValue)
                writer.member("title", view?.title)
                writer.member("role", view?.myRole?.rawValue)
                writer.member("joinedAt", me?.joinedAt)
                writer.member("readSeq", view?.readSeq)
                writer.member("deliveredSeq", view?.deliveredSeq)
                writer.member("mutedUntil", view?.mutedUntil)
                writer.member("pinnedAt", view?.pinnedAt)
                writer.member("archivedAt", view?.archivedAt)
            }
    }

    /// An object that is left open within an array under `name`.
    private func opened(thenArray name: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var bytes = JSONWriter.written { $0.object(members) }
        bytes.removeLast()
        return bytes + Array(",\"\(name)\":[".utf8)
    }
}
