import EventLoop
import RoostProtocol
import Runtime

/// Live sessions, and what they are told.
extension ModelRun {
    func changeSessions() async throws {
        let live = sessions.filter { !$0.hasClosed }
        if live.count > options.users, random.chance(60), let session = random.pick(live) {
            try await settle()
            note("a session of user \(session.user) closes")
            session.feed.close()
            sessions.removeAll { $0 === session }
        } else {
            try await connect(random.below(options.users))
        }
    }

    func connect(_ user: Int) async throws {
        try await settle()
        let node = random.below(nodes.count)
        note("user \(user) connects to node \(node)")
        let session = LiveSession(
            user: user, node: node, feed: try await Feed.connect(context, nodes[node], token: people[user].token))
        session.follow(world, world, connects: true)
        sessions.append(session)
        let deadline = MonotonicTime.now + .seconds(30)
        while !session.isReady { try await drain(session, until: deadline, for: "ready") }
    }

    /// Waits until every session was told everything that it must be told, and checks all that it was.
    func settle() async throws {
        let deadline = MonotonicTime.now + .seconds(30)
        for session in sessions {
            try look(at: session)
            while let due = session.due(world) {
                try await drain(session, until: deadline, for: "\(due), for user \(session.user) at node \(session.node)")
            }
        }
        past.removeAll(keepingCapacity: true)
    }

    func drain(_ session: LiveSession, until deadline: MonotonicTime, for what: String) async throws {
        if MonotonicTime.now > deadline { throw ModelFault("not in time: \(what)") }
        if let closure = session.feed.closure { throw ModelFault("the socket of user \(session.user) closed: \(closure)") }
        await session.feed.wait(until: deadline)
        try look(at: session)
    }

    private func look(at session: LiveSession) throws {
        for bytes in session.feed.take() {
            summary.events += 1
            guard let frame = try? JSONValue(bytes) else { throw ModelFault("no JSON in a frame") }
            if let fault = session.take(frame, world) {
                throw ModelFault("user \(session.user) at node \(session.node): \(fault)")
            }
            if frame["event"] != nil, let leak = secrets.leak(in: bytes, to: session.user, past + [world]) {
                throw ModelFault("user \(session.user) at node \(session.node): \(leak): \(frame.line.prefix(2_000))")
            }
        }
    }

    /// All that was on its way to the sessions when this was called has been looked at.
    func flush() async throws {
        let deadline = MonotonicTime.now + .seconds(30)
        for session in sessions {
            nextFrame += 1
            let id = "p\(nextFrame)"
            session.feed.send(.object(["id": .string(id), "op": .string("ping")]))
            while session.answers[id] == nil { try await drain(session, until: deadline, for: "an answer to a ping") }
            session.answers[id] = nil
        }
        for index in world.chats.indices { world.chats[index].forgetEvents() }
        for index in world.users.indices { world.users[index].hasTurned = false }
        summary.comparisons += 1
    }
}
