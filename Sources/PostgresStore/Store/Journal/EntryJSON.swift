import Ports
import RoostModel
import RoostProtocol

extension JournalEntry {
    /// Whether the entry needs `commit_changes`: it holds more than positions and what people send most, messages without mentions.
    var isRich: Bool { changes != nil || !messages.allSatisfy(\.isPlain) }

    /// One per user: an UPDATE takes only one of several rows that match.
    var mergedPositions: [PositionChange] {
        var result: [PositionChange] = []
        for change in positions {
            if let index = result.firstIndex(where: { $0.userID == change.userID }) {
                result[index] = PositionChange(
                    userID: change.userID, readSeq: max(change.readSeq, result[index].readSeq),
                    deliveredSeq: max(change.deliveredSeq, result[index].deliveredSeq), at: change.at)
            } else {
                result.append(change)
            }
        }
        return result
    }

    /// As `commit_changes` reads it (migrations/0004_chat.sql): times in milliseconds, enumerations as they are stored. Parts that
    /// are empty are absent.
    var json: String { String(decoding: JSONWriter.object(reserving: 1024) { write(to: &$0) }, as: UTF8.self) }

    private func write(to writer: inout JSONWriter) {
        let changes = changes ?? EntryChanges()
        writer.member("id", conversationID)
        writer.member("first", changes.firstSeq ?? messages.first?.seq)
        writer.member("deleted", changes.isDeleted)
        writer.member("marks", marksActive)
        // What changes the conversation's own row.
        writer.member("locks", marksActive || changes.isDeleted || changes.update != nil || !changes.members.isEmpty)
        if changes.isDeleted { return }
        writer.part("messages", messages) { $0.write($1) }
        writer.part("changed", changes.changedMessages) { $0.write(changed: $1) }
        writer.part("reactions", changes.reactions) { writer, reaction in
            writer.member("seq", reaction.seq)
            writer.member("user", reaction.userID)
            writer.member("emoji", reaction.emoji)
            writer.member("put", reaction.isPut)
            writer.milliseconds("at", reaction.at)
        }
        writer.part("hidden", changes.hidden) { writer, hidden in
            writer.member("seq", hidden.seq)
            writer.member("user", hidden.userID)
        }
        writer.part("members", changes.members) { $0.write($1) }
        if let update = changes.update {
            writer.key("update")
            writer.object { $0.write(update) }
        }
        writer.part("positions", mergedPositions) { writer, position in
            writer.member("user", position.userID)
            writer.member("read", position.readSeq)
            writer.member("delivered", position.deliveredSeq)
            writer.milliseconds("at", position.at)
        }
    }
}

extension Message {
    fileprivate var isPlain: Bool { kind != .system && mentions.isEmpty && changeSeq == seq && !clientID.isEmpty }

    /// Whether it names another message or a file, or came from elsewhere.
    var hasReferences: Bool { replyTo != nil || media != nil || isForwarded }
}

extension JSONWriter {
    fileprivate mutating func part<Element>(
        _ name: StaticString, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        if elements.isEmpty { return }
        key(name)
        array(elements) { writer, element in writer.object { body(&$0, element) } }
    }

    fileprivate mutating func milliseconds(_ name: StaticString, _ time: Timestamp?) {
        guard let time else { return }
        key(name)
        integer(time.milliseconds)
    }

    private mutating func number(_ name: StaticString, _ value: some BinaryInteger) {
        key(name)
        integer(value)
    }

    /// A new message.
    fileprivate mutating func write(_ message: Message) {
        member("sender", message.senderID)
        member("seq", message.seq)
        milliseconds("at", message.createdAt)
        number("kind", message.kind.stored)
        member("client", message.clientID.isEmpty ? nil : message.clientID)
        member("text", message.text)
        number("fingerprint", message.fingerprint)
        if let quote = message.replyTo { member("reply", quote.seq) }
        if let media = message.media { member("media", media.id) }
        if message.isForwarded { member("forwarded", true) }
        if !message.mentions.isEmpty {
            key("mentions")
            array(message.mentions) { $0.identifier($1) }
        }
        if let system = message.system {
            key("system")
            systemEvent(system)
        }
    }

    /// Of a message that is deleted there is nothing more to write.
    fileprivate mutating func write(changed message: Message) {
        member("seq", message.seq)
        member("change", message.changeSeq)
        if !message.isDeleted { member("text", message.text) }
        milliseconds("edited", message.editedAt)
        milliseconds("deleted", message.deletedAt)
    }

    fileprivate mutating func write(_ change: MemberChange) {
        switch change {
        case .joined(let user, let role, let at, let sinceSeq, let readSeq):
            member("what", "joined")
            member("user", user)
            number("role", role.stored)
            milliseconds("at", at)
            member("since", sinceSeq)
            member("read", readSeq)
        case .left(let user):
            member("what", "left")
            member("user", user)
        case .role(let user, let role):
            member("what", "role")
            member("user", user)
            number("role", role.stored)
        }
    }

    fileprivate mutating func write(_ update: ConversationUpdate) {
        if let title = update.title {
            member("title", title)
            member("folded", NameFolding.fold(title))
            key("words")
            array(NameFolding.searchKeys(title)) { $0.string($1) }
        }
        if let about = update.about { member("about", about) }
        if let photo = update.photo { member("photo", photo?.id) }
        if let history = update.history { number("history", history.stored) }
    }
}
