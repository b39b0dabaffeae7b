import RoostModel
import RoostProtocol

/// One live session of a user, and what it must be told yet.
final class LiveSession {
    let user: Int
    let node: Int
    let feed: Feed
    var isReady = false
    /// By the index of the chat.
    var tracks: [Int: Track] = [:]
    /// Whose new name it must be told.
    var namesDue: [Int: String] = [:]
    var answers: [String: JSONValue] = [:]
    var hasClosed: Bool { feed.closure != nil }

    init(user: Int, node: Int, feed: Feed) {
        self.user = user
        self.node = node
        self.feed = feed
    }

    struct Track {
        /// The counter when this session began to be told of the chat.
        var base: Int
        /// Whether the first event must be the one after ``base``, and not perhaps an earlier one that was still on its way.
        var isExact: Bool
        var last: Int?
        var removalDue = false
        var isRemoved = false
        var hiddenDue: Set<Int> = []
        /// What the newest `conversation` event must agree with has changed.
        var settingsDue = false
        /// By the member that moved.
        var receiptsDue: Set<Int> = []
    }

    /// Whether everything it must be told has come.
    func isSettled(_ world: World) -> Bool { due(world) == nil }

    /// What has not come yet.
    func due(_ world: World) -> String? {
        guard isReady else { return "ready" }
        if let name = namesDue.first { return "a user event with the name \(name)" }
        for (index, track) in tracks {
            let what = "of chat \(index) (\(world.chats[index].id))"
            if track.removalDue { return "the removal \(what)" }
            guard !track.isRemoved else { continue }
            if !track.hiddenDue.isEmpty { return "hidden \(track.hiddenDue) \(what)" }
            if track.settingsDue { return "the conversation event \(what)" }
            if let user = track.receiptsDue.first { return "the receipt of user \(user) \(what)" }
            let counter = world.chats[index].counter
            if (track.last ?? track.base) < counter {
                return "message events \((track.last ?? track.base) + 1)...\(counter) \(what)"
            }
        }
        return nil
    }

    // MARK: What an operation makes due

    /// - Parameter connects: everything that is there already counts as told.
    func follow(_ before: World, _ after: World, connects: Bool = false) {
        for index in after.chats.indices {
            let chat = after.chats[index]
            let old = connects ? nil : before.chat(index)
            let isMember = !chat.isGone && chat.members[user] != nil
            let wasMember = old?.members[user] != nil
            switch (wasMember, isMember) {
            case (false, false): break
            case (true, false): tracks[index]?.removalDue = true
            case (false, true):
                let isNew = connects || before.chat(index) == nil
                tracks[index] = Track(base: isNew ? chat.counter : chat.members[user]!.since - 1, isExact: !isNew)
                tracks[index]?.settingsDue = !connects
            case (true, true): follow(index, old!, chat, after)
            }
        }
        if connects { return }
        for other in after.users.indices where other != user && after.users[other].name != before.users[other].name {
            let isShared = after.chats.contains { chat in
                !chat.isGone && chat.kind != .channel && chat.members[user] != nil && chat.members[other] != nil
            }
            if isShared { namesDue[other] = after.users[other].name }
        }
    }

    private func follow(_ index: Int, _ old: Chat, _ chat: Chat, _ world: World) {
        tracks[index]?.hiddenDue.formUnion(chat.hidden[user, default: []].subtracting(old.hidden[user, default: []]))
        let (was, me) = (old.members[user]!, chat.members[user]!)
        var isChanged = old.title != chat.title || old.about != chat.about || old.history != chat.history
        isChanged = isChanged || was.role != me.role || was.mutedUntil != me.mutedUntil
        isChanged = isChanged || (was.pinnedAt == nil) != (me.pinnedAt == nil)
        if chat.kind != .channel {
            isChanged = isChanged || old.members.mapValues(\.role) != chat.members.mapValues(\.role)
        }
        if isChanged { tracks[index]?.settingsDue = true }
        for (other, member) in chat.members {
            guard let earlier = old.members[other], earlier.since == member.since else { continue }
            let isShown =
                member.delivered != earlier.delivered || (member.read != earlier.read && world.sharesReads(user, with: other))
            if isShown { tracks[index]?.receiptsDue.insert(other) }
        }
        tracks[index]?.receiptsDue.formIntersection(chat.members.keys)
    }

    // MARK: What has come

    /// - Returns: what is wrong with it.
    func take(_ frame: JSONValue, _ world: World) -> String? {
        guard let event = frame["event"]?.string else {
            guard let id = frame["id"]?.string else { return "an answer to nothing: \(frame.line)" }
            answers[id] = frame
            return nil
        }
        switch event {
        case "ready": isReady = true
        case "presence": break
        case "user":
            guard let id = frame["user"]?["id"]?.string, let other = world.users.firstIndex(where: { $0.id == id }) else {
                return nil
            }
            if frame["user"]?["displayName"]?.string == namesDue[other] { namesDue[other] = nil }
        case "resync": return "a session of a healthy cluster was told to resync"
        case "message", "hidden", "receipt", "typing", "conversation":
            let id = frame["conversationId"]?.string ?? frame["conversation"]?["id"]?.string
            guard let index = world.chats.firstIndex(where: { $0.id == id }) else {
                return "an event of an unknown chat: \(frame.line)"
            }
            if tracks[index] == nil || tracks[index]!.isRemoved {
                return "an event of a chat that the user is no member of: \(frame.line)"
            }
            return take(event, frame, index, world)
        default: return "an unknown event: \(frame.line)"
        }
        return nil
    }

    private func take(_ event: String, _ frame: JSONValue, _ index: Int, _ world: World) -> String? {
        let chat = world.chats[index]
        switch event {
        case "message": return message(frame, index, chat, world)
        case "hidden":
            guard let seq = frame["seq"]?.int, tracks[index]!.hiddenDue.remove(seq) != nil else {
                return "not hidden: \(frame.line)"
            }
        case "typing":
            let typist = world.users.firstIndex { $0.id == frame["userId"]?.string }
            if typist == nil || typist == user { return "not to be told: \(frame.line)" }
        case "receipt": return receipt(frame, index, chat, world)
        case "conversation":
            if frame["removed"] == .bool(true) {
                guard tracks[index]!.removalDue else { return "removed without a reason: \(frame.line)" }
                tracks[index]!.removalDue = false
                tracks[index]!.isRemoved = true
            } else if let view = frame["conversation"], chat.members[user] != nil {
                let agrees = world.settings(of: chat, for: user).allSatisfy { $1.mismatch(view[$0]) == nil }
                if agrees { tracks[index]!.settingsDue = false }
            }
        default: break
        }
        return nil
    }

    private func message(_ frame: JSONValue, _ index: Int, _ chat: Chat, _ world: World) -> String? {
        guard let seq = frame["seq"]?.int, let message = frame["message"] else { return "no message event: \(frame.line)" }
        let track = tracks[index]!
        if let last = track.last {
            if seq != last + 1 { return "chat \(index): after \(last) came \(seq)" }
        } else if track.isExact ? seq != track.base + 1 : seq > track.base + 1 {
            return "chat \(index): the first event has \(seq), and not \(track.base + 1)"
        }
        tracks[index]!.last = seq
        guard let known = chat.events[seq], let shape = known.shown[user] else {
            return seq <= track.base ? nil : "chat \(index): no event \(seq) for user \(user): \(frame.line)"
        }
        guard let fault = shape.mismatch(message) else { return nil }
        let post = chat.post(known.seq)
        let isOvertaken = post.map { $0.changeSeq != seq } ?? true
        // What has changed again, or may be seen no more, need not be shown as it was.
        if message.isNull, isOvertaken || !chat.sees(user, known.seq) { return nil }
        if let post, !isOvertaken, world.shape(of: post, in: chat, for: user, overREST: false).mismatch(message) == nil {
            return nil
        }
        return "chat \(index), event \(seq): \(fault) in \(frame.line)"
    }

    private func receipt(_ frame: JSONValue, _ index: Int, _ chat: Chat, _ world: World) -> String? {
        guard let other = world.users.firstIndex(where: { $0.id == frame["userId"]?.string }) else {
            return "whose? \(frame.line)"
        }
        guard let member = chat.members[other] else { return nil }
        let read = frame["readSeq"]?.int
        if (read ?? 0) > member.read || (frame["deliveredSeq"]?.int ?? 0) > member.delivered {
            return "a receipt beyond what was read: \(frame.line)"
        }
        let shares = world.sharesReads(user, with: other)
        // The owner of the chat hears of a changed setting a moment later than the one who changed it.
        let isTurning = world.users[user].hasTurned || world.users[other].hasTurned
        if !shares, read != nil, !isTurning { return "a receipt that is not shared: \(frame.line)" }
        let isNewest = frame["deliveredSeq"]?.int == member.delivered && (read == (shares ? member.read : nil) || isTurning)
        if isNewest { tracks[index]!.receiptsDue.remove(other) }
        return nil
    }
}
