import Ports
import RoostModel
import RoostProtocol

/// The body of `POST /v1/conversations`, by kind.
enum NewConversationInput {
    case direct(UserID)
    case group(Group)
    case channel(title: String, about: String?)

    struct Group {
        let title: String
        /// Each once.
        let memberIDs: [UserID]
        let photoID: MediaID?
        let history: HistorySetting
    }

    init(_ body: JSONBody) throws(RoostError) {
        guard let kind = ConversationKind(rawValue: try body.requiredString("kind")) else { throw .invalid("kind", .invalid) }
        switch kind {
        case .direct: self = .direct(try body.requiredIdentifier("userId"))
        case .group:
            let title = try DisplayText.title(try body.requiredString("title"))
            let members = try body.userIDs("memberIds") ?? []
            let history = try body.history() ?? .full
            self = .group(
                Group(title: title, memberIDs: members, photoID: try body.identifier("photoMediaId"), history: history))
        case .channel:
            let title = try DisplayText.title(try body.requiredString("title"))
            var about: String?
            if let text = try body.string("about") { about = try DisplayText.about(text) }
            self = .channel(title: title, about: about)
        }
    }
}

/// The body of `PATCH /v1/conversations/{id}`.
struct ConversationPatch {
    /// Without the photo, which has to be looked up.
    let update: ConversationUpdate
    let photoID: MediaID??

    init(_ body: JSONBody) throws(RoostError) {
        var update = ConversationUpdate()
        var photo: MediaID??
        var faults = FieldFaults()
        _ = try faults.collect { () throws(RoostError) in
            guard let given = try body.patchString("title") else { return }
            // Every group has one.
            guard let given else { throw .invalid("title", .required) }
            update.title = try DisplayText.title(given)
        }
        _ = try faults.collect { () throws(RoostError) in
            guard let given = try body.patchString("about") else { return }
            if let given { update.about = .some(try DisplayText.about(given)) } else { update.about = .some(nil) }
        }
        _ = try faults.collect { () throws(RoostError) in
            guard body.members["photoMediaId"] != nil else { return }
            photo = .some(try body.identifier("photoMediaId"))
        }
        _ = try faults.collect { () throws(RoostError) in update.history = try body.history() }
        try faults.check()
        self.update = update
        photoID = photo
    }
}

extension MemberSettingsChange {
    /// The body of `PATCH …/settings`.
    init(_ body: JSONBody) throws(RoostError) {
        self.init()
        if let given = try body.patchString("mutedUntil") {
            if let given {
                guard let time = Timestamp(given) else { throw .invalid("mutedUntil", .invalid) }
                mutedUntil = .some(time)
            } else {
                mutedUntil = .some(nil)
            }
        }
        isPinned = try body.patchFlag("pinned")
        isArchived = try body.patchFlag("archived")
    }
}

extension JSONBody {
    /// Ids of users, each once; nil where the field is absent. One that is no id does not exist: `unknown`.
    func userIDs(_ name: String) throws(RoostError) -> [UserID]? {
        guard let texts = try strings(name) else { return nil }
        guard texts.count <= Limits.usersNamed else { throw .invalid(name, .tooLong) }
        var ids: [UserID] = []
        var seen: Set<UserID> = []
        for text in texts {
            guard let id = UserID(text) else { throw .invalid(name, .unknown) }
            if seen.insert(id).inserted { ids.append(id) }
        }
        return ids
    }

    func history() throws(RoostError) -> HistorySetting? {
        guard let text = try string("history") else { return nil }
        guard let history = HistorySetting(rawValue: text) else { throw .invalid("history", .invalid) }
        return history
    }

    func role() throws(RoostError) -> MemberRole {
        guard let role = MemberRole(rawValue: try requiredString("role")) else { throw .invalid("role", .invalid) }
        return role
    }

    /// Null, which clears, is false.
    fileprivate func patchFlag(_ name: String) throws(RoostError) -> Bool? {
        guard let value = members[name] else { return nil }
        return value.isNull ? false : try requiredBool(name)
    }
}
