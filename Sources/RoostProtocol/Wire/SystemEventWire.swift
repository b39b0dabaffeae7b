import RoostModel

extension JSONWriter {
    /// What a system message tells: `{"kind","actorId",…}`, with what changed beside them.
    public mutating func systemEvent(_ event: SystemEvent) {
        object { writer in
            writer.member("kind", event.change.kind)
            writer.member("actorId", event.actorID)
            switch event.change {
            case .created, .memberJoined, .memberLeft: break
            case .updated(let update): writer.updateMembers(update)
            case .membersAdded(let users):
                writer.key("userIds")
                writer.array(users) { $0.identifier($1) }
            case .memberRemoved(let user): writer.member("userId", user)
            case .roleChanged(let user, let role):
                writer.member("userId", user)
                writer.member("role", role.rawValue)
            }
        }
    }

    /// Only what was changed; null where it was cleared. Of a photo only that it was changed: the conversation shows it.
    private mutating func updateMembers(_ update: ConversationUpdate) {
        if let title = update.title { member("title", title) }
        if let about = update.about { member("about", about) }
        if let photo = update.photo { member("photoMediaId", photo?.id) }
        if let history = update.history { member("history", history.rawValue) }
    }
}

extension SystemEvent.Change {
    var kind: String {
        switch self {
        case .created: "created"
        case .updated: "updated"
        case .membersAdded: "membersAdded"
        case .memberRemoved: "memberRemoved"
        case .memberJoined: "memberJoined"
        case .memberLeft: "memberLeft"
        case .roleChanged: "roleChanged"
        }
    }
}

extension SystemEvent {
    /// As JSON, as it is stored.
    public func json() -> [UInt8] { JSONWriter.encoded { $0.systemEvent(self) } }
}

extension SystemEvent: WireDecodable {
    /// A photo that was changed is read as no photo: what the message shows is that it changed.
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let kind = fields["kind"]?.string, let actorID = fields.optional("actorId", { $0.identifier(UserID.self) }) else {
            return nil
        }
        let user = fields["userId"]?.identifier(UserID.self)
        switch kind {
        case "created": self.init(actorID: actorID, change: .created)
        case "memberJoined": self.init(actorID: actorID, change: .memberJoined)
        case "memberLeft": self.init(actorID: actorID, change: .memberLeft)
        case "membersAdded":
            guard let users = fields.array("userIds", { $0.identifier(UserID.self) }) else { return nil }
            self.init(actorID: actorID, change: .membersAdded(users))
        case "memberRemoved":
            guard let user else { return nil }
            self.init(actorID: actorID, change: .memberRemoved(user))
        case "roleChanged":
            guard let user, let role = fields["role"]?.string.flatMap(MemberRole.init) else { return nil }
            self.init(actorID: actorID, change: .roleChanged(user, role))
        case "updated":
            var update = ConversationUpdate()
            update.title = fields["title"]?.string
            if let about = fields["about"] { update.about = .some(about.string) }
            if let photo = fields["photoMediaId"] {
                update.photo = .some(photo.identifier(MediaID.self).map(Media.init(referenced:)))
            }
            update.history = fields["history"]?.string.flatMap(HistorySetting.init)
            self.init(actorID: actorID, change: .updated(update))
        default: return nil
        }
    }
}

extension Media {
    /// A file of which only the id is known here.
    fileprivate init(referenced id: MediaID) {
        self.init(id: id, ownerID: UserID(high: 0, low: 0), state: .ready, kind: .image, contentType: "", bytes: 0)
    }
}
