import ActorRuntime
import RoostModel

/// The payload of ``ConversationVerb/act``: who does what.
struct ActionRequest: Hashable {
    let userID: UserID
    let action: ConversationAction

    /// Numbers are wire format: never reused.
    private enum Code: UInt8 {
        case edit = 1
        case deleteForEveryone = 2
        case hide = 3
        case react = 4
        case unreact = 5
        case addMembers = 6
        case join = 7
        case removeMember = 8
        case setRole = 9
        case update = 10
        case delete = 11
        case refresh = 12
    }

    init(userID: UserID, action: ConversationAction) {
        self.userID = userID
        self.action = action
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.append(userID)
        func begin(_ code: Code) { writer.append(code.rawValue) }
        switch action {
        case .edit(let seq, let text):
            begin(.edit)
            writer.append(seq)
            writer.append(text)
        case .deleteForEveryone(let seq):
            begin(.deleteForEveryone)
            writer.append(seq)
        case .hide(let seq):
            begin(.hide)
            writer.append(seq)
        case .react(let seq, let emoji):
            begin(.react)
            writer.append(seq)
            writer.append(emoji)
        case .unreact(let seq, let emoji):
            begin(.unreact)
            writer.append(seq)
            writer.append(emoji)
        case .addMembers(let users):
            begin(.addMembers)
            writer.append(UInt32(users.count))
            for user in users { writer.append(user) }
        case .join: begin(.join)
        case .removeMember(let user):
            begin(.removeMember)
            writer.append(user)
        case .setRole(let user, let role):
            begin(.setRole)
            writer.append(user)
            writer.append(role.rawValue)
        case .update(let update):
            begin(.update)
            writer.append(update)
        case .delete: begin(.delete)
        case .refresh: begin(.refresh)
        }
        return writer.bytes
    }

    init(_ payload: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(payload)
        userID = try reader.identifier()
        // An action of a newer release.
        guard let code = Code(rawValue: try reader.byte()) else { throw ByteReader.Truncated() }
        switch code {
        case .edit:
            let seq = try reader.seq()
            action = .edit(seq, text: try reader.string())
        case .deleteForEveryone: action = .deleteForEveryone(try reader.seq())
        case .hide: action = .hide(try reader.seq())
        case .react:
            let seq = try reader.seq()
            action = .react(seq, emoji: try reader.string())
        case .unreact:
            let seq = try reader.seq()
            action = .unreact(seq, emoji: try reader.string())
        case .addMembers:
            var users: [UserID] = []
            for _ in 0..<(try reader.uint32()) { users.append(try reader.identifier()) }
            action = .addMembers(users)
        case .join: action = .join
        case .removeMember: action = .removeMember(try reader.identifier())
        case .setRole:
            let user: UserID = try reader.identifier()
            guard let role = MemberRole(rawValue: try reader.string()) else { throw ByteReader.Truncated() }
            action = .setRole(user, role)
        case .update: action = .update(try reader.update())
        case .delete: action = .delete
        case .refresh: action = .refresh
        }
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ update: ConversationUpdate) {
        append(optional: update.title) { $0.append($1) }
        append(optional: update.about) { $0.append(optional: $1) { $0.append($1) } }
        append(optional: update.photo) { $0.append(optional: $1) { $0.append($1) } }
        append(optional: update.history) { $0.append($1.rawValue) }
    }
}

extension ByteReader {
    fileprivate mutating func update() throws(Truncated) -> ConversationUpdate {
        var update = ConversationUpdate()
        if try bool() { update.title = try string() }
        if try bool() { update.about = .some(try bool() ? try string() : nil) }
        if try bool() { update.photo = .some(try bool() ? try media() : nil) }
        if try bool() {
            guard let history = HistorySetting(rawValue: try string()) else { throw Truncated() }
            update.history = history
        }
        return update
    }
}
