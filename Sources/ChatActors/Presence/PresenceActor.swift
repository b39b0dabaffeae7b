import ActorRuntime
import ConversationCore
import Distributed
import EventLoop
import RoostModel

/// One user's presence: which sessions they have, and who is to be told. A shell around ``ConversationCore/PresenceMachine``.
public distributed actor PresenceActor: HostedActor {
    public typealias ActorSystem = RoostActorSystem

    nonisolated public var unownedExecutor: UnownedSerialExecutor {
        actorSystem.lane(of: id).loop.asUnownedSerialExecutor()
    }

    private let context: ChatLane
    private let lane: Lane
    private var machine: PresenceMachine?
    /// Nodes with watchers; each is told once, and spreads the news to its sessions.
    private var watchers: Set<NodeIdentity> = []
    private var isRetired = false
    private var rate = ActivityRate(at: .now)
    private var lastUse = MonotonicTime.now

    init(context: ChatLane, lane: Lane, actorSystem: RoostActorSystem) {
        self.actorSystem = actorSystem
        self.context = context
        self.lane = lane
    }

    private var userID: UserID { id.userID }

    private var moment: Moment {
        Moment(monotonic: .nanoseconds(MonotonicTime.now.nanoseconds), wall: context.now())
    }

    // MARK: Calls

    public func receive(_ call: InboundCall) {
        lastUse = .now
        rate.happened(1, at: lastUse)
        guard let verb = PresenceVerb(rawValue: call.verb), let here = lane.endpoint.routing.identity else {
            return lane.answer(call, .failure(.unavailable))
        }
        do throws(ByteReader.Truncated) {
            try perform(verb, call, from: call.caller(here: here))
        } catch {
            lane.answer(call, .failure(RoostError(.malformed)))
        }
    }

    private func perform(
        _ verb: PresenceVerb, _ call: InboundCall, from node: NodeIdentity
    ) throws(ByteReader.Truncated) {
        switch verb {
        case .attach:
            let report = try SessionReport(call.payload)
            wake(knownAs: nil)
            advance {
                $0.attached(
                    report.sessionID, device: report.deviceID, incarnation: node.incarnation, isForeground: !report.isBackground,
                    at: moment)
            }
            // Should everything die at once, this is when the user was last known to be here.
            context.lastSeen.record(userID, at: context.now())
            lane.answer(call, .success([]))
        case .state:
            let report = try SessionReport(call.payload)
            wake(knownAs: nil)
            advance { $0.changed(report.sessionID, isForeground: !report.isBackground, at: moment) }
            lane.answer(call, .success([]))
        case .detach:
            let report = try SessionReport(call.payload)
            wake(knownAs: nil)
            advance {
                switch report.ending {
                case .clean, .silent: $0.ended(report.sessionID, at: moment)
                case .broken: $0.broken(report.sessionID, at: moment)
                }
            }
            lane.answer(call, .success([]))
        case .watch:
            watchers.insert(node)
            wake(knownAs: WatchRequest(call.payload).known)
            answerFact(call)
        case .unwatch:
            watchers.remove(node)
            lane.answer(call, .success([]))
        case .query:
            wake(knownAs: nil)
            answerFact(call)
        }
    }

    private func answerFact(_ call: InboundCall) {
        guard let machine else { return lane.answer(call, .failure(.unavailable)) }
        lane.answer(call, .success(fact(machine.news).encoded()))
    }

    // MARK: The machine

    /// The first call makes the machine. Where the shard came here a moment ago, sessions may still be on their way back.
    private func wake(knownAs known: PresenceState?) {
        guard machine == nil else { return }
        let epoch = lane.endpoint.routing.table.epoch(of: id)
        guard let remaining = context.recoveryRemaining(of: id.shard) else {
            machine = PresenceMachine(epoch: epoch)
            return
        }
        let isOnline = context.fanout.hub.hasSessions(of: userID) || context.fanout.routes.isOnlineElsewhere(userID)
        machine = PresenceMachine(
            epoch: epoch, recoveringFrom: known ?? (isOnline ? .online : nil), for: remaining, at: moment)
        advance { $0.woke(at: moment) }
    }

    private func advance(_ body: (inout PresenceMachine) -> [PresenceMachine.Action]) {
        guard !isRetired, var machine else { return }
        let actions = body(&machine)
        self.machine = machine
        for action in actions {
            switch action {
            case .publish(let news): publish(news)
            case .recordLastSeen(let time): context.lastSeen.record(userID, at: time)
            case .scheduleWake(let time):
                lane.loop.schedule(after: time - moment.monotonic) { [self] in advance { $0.woke(at: moment) } }
            }
        }
    }

    private func publish(_ news: PresenceMachine.News) {
        context.metrics.presenceChanges.increment()
        let notice = NodeNotice(topic: NoticeTopic.presence, payload: fact(news).encoded())
        for node in watchers { lane.endpoint.tell(node, notice) }
    }

    private func fact(_ news: PresenceMachine.News) -> PresenceFact {
        PresenceFact(userID: userID, state: news.state, lastSeenAt: news.lastSeenAt, version: news.version)
    }

    /// Nodes died, and with them their sessions and watchers.
    func nodesDeparted(_ nodes: Set<IncarnationID>) {
        watchers = watchers.filter { !nodes.contains($0.incarnation) }
        for node in nodes { advance { $0.nodeDied(node, at: moment) } }
    }

    // MARK: The lane's questions

    public func mayPassivate(at now: Timestamp) -> Bool {
        watchers.isEmpty && machine?.isQuiet ?? true
    }

    public func retire(_ done: @escaping @Sendable () -> Void) {
        isRetired = true
        done()
    }

    // MARK: Inspection

    public var activity: ActorActivity {
        ActorActivity(
            messagesPerSecond: rate.perSecond(at: .now), mailboxDepth: 0,
            idleSeconds: (MonotonicTime.now - lastUse) / .seconds(1),
            routes: [])
    }

    public var routes: [String] { watchers.map(\.name).sorted() }

    /// `describe` → how many sessions and watching nodes there are.
    public distributed func perform(_ request: ActorEnvelope) async throws -> ActorEnvelope {
        guard request.verb == "describe" else { throw RoostError(.malformed) }
        return ActorEnvelope(
            verb: request.verb,
            body: ["sessions": String(machine?.sessionCount ?? 0), "watchingNodes": String(watchers.count)])
    }
}
