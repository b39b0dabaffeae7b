import ActorRuntime
import ClusterCore
import ConversationCore
import EventLoop
import Ports
import RoostModel
import RoostProtocol
import Runtime

/// What the actors of one lane share: the journal, its group commit, and the way out to the sessions. Confined to the lane's loop.
final class ChatLane: @unchecked Sendable {
    let lane: Lane
    let fanout: Fanout
    let settings: ChatSettings
    let metrics: ChatMetrics
    let now: @Sendable () -> Timestamp
    let lastSeen: LastSeenRecorder
    let load = LaneLoad(at: .now)
    /// Set while the node lives; actors exist only then.
    private(set) var journal: (any Journal)!
    private(set) var loader: ConversationLoader!
    private(set) var writer: JournalWriter!

    private let logger: Logger
    private let onFenced: @Sendable () -> Void
    private var closeJournal: () -> Void = {}
    private static let announcementAttempts = 20
    private var settlements: [SettleEntry] = []
    private var recovering: [ShardID: MonotonicTime] = [:]

    init(
        lane: Lane, fanout: Fanout, lastSeen: LastSeenRecorder, settings: ChatSettings, metrics: ChatMetrics, logger: Logger,
        now: @escaping @Sendable () -> Timestamp, onFenced: @escaping @Sendable () -> Void
    ) {
        self.lane = lane
        self.fanout = fanout
        self.lastSeen = lastSeen
        self.settings = settings
        self.metrics = metrics
        self.logger = logger
        self.now = now
        self.onFenced = onFenced
    }

    // MARK: Lives of the node

    /// Begins to write as `identity`.
    func begin(as identity: NodeIdentity, _ open: LaneJournal) {
        closeJournal()
        journal = open.journal
        closeJournal = open.close
        loader = ConversationLoader(journal: journal, loop: lane.loop)
        writer = JournalWriter(
            journal: journal, fence: JournalFence(incarnation: identity.incarnation, lane: lane.index), loop: lane.loop,
            metrics: metrics.journal, onFenced: onFenced, load: load)
    }

    /// Writes no more. The actors are retired already.
    func end() {
        closeJournal()
        closeJournal = {}
    }

    /// Presence that came here, with its shard or by itself: a fresh owner must not call a user offline before their sessions had
    /// time to attach again. The owners of `orphans` have died, with sessions perhaps.
    func gained(_ shards: [GainedShard], pins: Set<ActorAddress>, orphans: [ActorAddress]) {
        let now = MonotonicTime.now
        recovering = recovering.filter { $0.value > now }
        for shard in shards where shard.shard.kind == .presence {
            switch shard.reason {
            case .placement:
                // The first owner ever has nobody to wait for.
                if shard.epoch > Epoch(1) { recovering[shard.shard] = now + PresenceMachine.recoveryTime }
            case .failover: recovering[shard.shard] = now + PresenceMachine.nodeDeathLinger
            case .join: recovering[shard.shard] = now + PresenceMachine.recoveryTime
            }
        }
        // A pinned presence has no shard of its own to wait with; its neighbours do no harm by waiting too.
        for actor in pins where actor.kind == .presence {
            let wait = orphans.contains(actor) ? PresenceMachine.nodeDeathLinger : PresenceMachine.recoveryTime
            recovering[actor.shard] = max(now + wait, recovering[actor.shard] ?? now)
        }
    }

    /// How long a fresh owner in `shard` waits for sessions; nil where nothing is to be waited for.
    func recoveryRemaining(of shard: ShardID) -> Duration? {
        guard let end = recovering[shard] else { return nil }
        let remaining = end - MonotonicTime.now
        return remaining > .zero ? remaining : nil
    }

    func nodesDeparted(_ nodes: Set<IncarnationID>) {
        lane.forEachActive(of: .presence) { actor in
            guard let presence = actor as? PresenceActor else { return }
            presence.assumeIsolated { $0.nodesDeparted(nodes) }
        }
    }

    /// Passes on what dead owners of `shards` may have committed without telling anyone.
    func announceRecent(inShards shards: [Int], attempt: Int = 0) {
        let since = now() + (.zero - settings.failoverReach)
        journal.recentMessages(inShards: shards, since: since) { [self] result in
            switch result {
            case .failure(let error):
                guard attempt < Self.announcementAttempts else {
                    return logger.warning("Recent messages of taken shards could not be read", [.error: "\(error)"])
                }
                lane.loop.schedule(after: .milliseconds(500)) { [self] in
                    announceRecent(inShards: shards, attempt: attempt + 1)
                }
            case .success(let recent):
                for item in recent { announce(item.message, to: item.memberIDs) }
                metrics.announcedAgain.increment(by: recent.count)
            }
        }
    }

    /// Tells of changes that were committed without the actor's knowing: each session reads what its user may see of them.
    func announceMissed(_ conversation: ConversationID, _ range: ClosedRange<Seq>, to members: [UserID]) {
        guard !members.isEmpty else { return }
        fanout.send(.advance(conversation, from: range.lowerBound, to: range.upperBound, recipients: members), from: lane)
    }

    private func announce(_ message: Message, to members: [UserID]) {
        fanout.send(
            FanoutEvent(
                kind: .message, conversationID: message.conversationID, seq: message.changeSeq, recipients: members,
                payload: ServerEvent.message(message)), from: lane)
    }

    // MARK: Quiet conversations

    /// Clears the dirty mark of a conversation that went quiet, many in one statement.
    func settle(_ entry: SettleEntry) {
        settlements.append(entry)
        guard settlements.count == 1 else { return }
        lane.loop.atEndOfTurn { [self] in
            let fence = writer.fence
            let entries = settlements
            settlements = []
            // A failure leaves the marks set, which is always correct.
            journal.settle(entries, fence: fence) { [metrics] result in
                if case .success = result { metrics.settled.increment(by: entries.count) }
            }
        }
    }
}

/// The journal of one lane for one life of the node.
public struct LaneJournal: Sendable {
    let journal: any Journal & Sendable
    let close: @Sendable () -> Void

    /// - Parameter close: called on the lane's loop when the life is over.
    public init(_ journal: any Journal & Sendable, close: @escaping @Sendable () -> Void) {
        self.journal = journal
        self.close = close
    }
}

/// How long things take in the actors.
public struct ChatSettings: Sendable {
    /// Quiet for this long, a conversation's dirty mark is cleared.
    public var settleAfter: Duration = .seconds(120)
    /// One that never goes quiet has it cleared now and then: so its messages are prepared for searching.
    public var settleAtLeastEvery: Duration = .seconds(600)
    /// Unused for this long, an actor is dropped.
    public var passivateAfter: Duration = .seconds(300)
    /// How far back a new owner looks for messages that its dead predecessor may not have passed on.
    public var failoverReach: Duration = .seconds(15)
    public var rules = ConversationRules()

    public init() {}
}

public struct ChatMetrics: Sendable {
    let journal: JournalMetrics
    let mailboxOverflows: Counter
    let announcedAgain: Counter
    let settled: Counter
    let deliveries: Counter
    let presenceChanges: Counter

    public init(_ metrics: Metrics) {
        journal = JournalMetrics(metrics)
        mailboxOverflows = metrics.counter(
            "roost_mailbox_overflows_total", help: "Calls refused because a conversation's mailbox was full.")
        announcedAgain = metrics.counter(
            "roost_failover_announcements_total", help: "Messages that a new owner passed on again after a failover.")
        settled = metrics.counter("roost_conversations_settled_total", help: "Dirty marks cleared.")
        deliveries = metrics.counter("roost_fanout_recipients_total", help: "Recipients of events that were fanned out.")
        presenceChanges = metrics.counter("roost_presence_changes_total", help: "Changes of presence that were made known.")
    }
}
