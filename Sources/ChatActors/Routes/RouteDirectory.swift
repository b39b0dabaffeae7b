import EventLoop
import Ports
import RoostModel
import Runtime

/// Knows on which nodes each user has sessions, and tells the other nodes of those here (docs/decisions/0003).
///
/// A session is announced before its client is told `ready`: from then on every owner of a conversation sends it every event. A peer
/// that does not acknowledge in time keeps nobody waiting; when it does, sessions are told `resync`.
/// The methods may be called on any thread; the state is confined to `loop`.
public final class RouteDirectory: @unchecked Sendable {
    private static let snapshotPartUsers = 4000
    private static let broadcast = Subject("roost", "v1", "routes")

    private let loop: EventLoop
    private let bus: any MessageBus
    private let logger: Logger
    private let acknowledgementTimeout: Duration
    /// Sessions here may have missed events.
    private let onMissedEvents: @Sendable () -> Void
    /// A peer listens again: what was sent to it a moment ago may have found nobody.
    private let onPeerReturned: @Sendable (NodeIdentity) -> Void
    let map = RouteMap()

    // Confined to the loop.
    private var identity: NodeIdentity?
    private var peers: [IncarnationID: Peer] = [:]
    private var batcher = AttachBatcher<@Sendable () -> Void>()
    private var subscriptions: [any BusSubscription] = []
    private var flushScheduled = false
    /// Batches whose sessions were told `ready` before every peer had acknowledged them.
    private var overdue: Set<UInt64> = []

    private struct Peer {
        let node: NodeIdentity
        /// Nil for a peer beyond the tracked ones.
        let bit: Int?
        var routes = PeerRoutes()
    }

    public init(
        loop: EventLoop, bus: any MessageBus, logger: Logger, metrics: Metrics,
        acknowledgementTimeout: Duration = .milliseconds(500), onMissedEvents: @escaping @Sendable () -> Void,
        onPeerReturned: @escaping @Sendable (NodeIdentity) -> Void
    ) {
        self.loop = loop
        self.bus = bus
        self.logger = logger
        self.acknowledgementTimeout = acknowledgementTimeout
        self.onMissedEvents = onMissedEvents
        self.onPeerReturned = onPeerReturned
        let map = map
        metrics.gauge("roost_routes_users", help: "Users known to be online on other nodes.") { Double(map.count) }
    }

    public func start() {
        loop.execute { self.tick() }
    }

    // MARK: Sessions of this node

    /// A session of `user` began here. `done` runs, on the directory's loop, once every other node sends us the user's events.
    public func attach(_ user: UserID, _ done: @escaping @Sendable () -> Void) {
        loop.execute {
            self.batcher.attach(user, done)
            self.scheduleFlush()
        }
    }

    public func detach(_ user: UserID) {
        loop.execute {
            self.batcher.detach(user)
            self.scheduleFlush()
        }
    }

    /// Names of the other nodes that have, or may have, sessions of any of `users`.
    func nodes(of users: [UserID]) -> [String] {
        let peers = map.peers
        var union = users.map { map.mask(of: $0) }.reduce(peers.incomplete, |)
        var names: [String] = []
        while union != 0 {
            let bit = Int(union.trailingZeroBitCount)
            union &= union - 1
            if let node = peers.nodes[bit] { names.append(node.name) }
        }
        return names
    }

    /// Whether the user has a session at another node, as far as is known.
    public func isOnlineElsewhere(_ user: UserID) -> Bool { map.mask(of: user) != 0 }

    // MARK: The cluster

    /// A new life of this node, or a change of its peers.
    public func apply(identity: NodeIdentity, live: Set<NodeIdentity>) {
        loop.execute { self.update(identity: identity, live: live) }
    }

    public func busChanged(_ event: BusEvent) {
        loop.execute {
            switch event {
            case .disconnected: break
            case .reconnected:
                // What others sent us is lost, and so is what we told them: our snapshot makes them see the first.
                for incarnation in Array(self.peers.keys) { self.onPeer(incarnation) { $0.lostTrack() } }
                self.sendSnapshot()
                self.onMissedEvents()
            case .slowConsumer:
                for incarnation in Array(self.peers.keys) { self.onPeer(incarnation) { $0.lostTrack() } }
                self.onMissedEvents()
            }
        }
    }

    private func update(identity: NodeIdentity, live: Set<NodeIdentity>) {
        let isNewLife = self.identity != identity
        self.identity = identity
        if isNewLife { resubscribe(identity) }
        let present = Set(live.map(\.incarnation))
        for (incarnation, peer) in peers where !present.contains(incarnation) || isNewLife {
            peers[incarnation] = nil
            free(peer)
        }
        // Whoever turns up later than our own first view was not sent what we fanned out meanwhile.
        for node in live where node != identity && peers[node.incarnation] == nil { add(node, mayHaveMissedEvents: !isNewLife) }
        for waiter in batcher.retain(peers: Set(peers.keys)) { waiter() }
        if isNewLife { sendSnapshot() }
        scheduleFlush()
    }

    private func add(_ node: NodeIdentity, mayHaveMissedEvents: Bool) {
        var bit: Int?
        map.updatePeers { state in
            bit = state.nodes.firstIndex { $0 == nil }
            if let bit {
                state.nodes[bit] = node
                state.incomplete |= 1 << UInt64(bit)
            } else {
                state.untracked.append(node)
            }
        }
        peers[node.incarnation] = Peer(node: node, bit: bit)
        send(.snapshotRequest(from: identity!, afterGap: mayHaveMissedEvents), to: node)
    }

    private func free(_ peer: Peer) {
        if let bit = peer.bit { map.clear(bit: 1 << UInt64(bit)) }
        map.updatePeers { state in
            if let bit = peer.bit {
                state.nodes[bit] = nil
                state.incomplete &= ~(1 << UInt64(bit))
            }
            state.untracked.removeAll { $0 == peer.node }
        }
    }

    private func resubscribe(_ identity: NodeIdentity) {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        for subject in [Self.broadcast, Self.direct(identity)] {
            do throws(BusError) {
                subscriptions.append(
                    try bus.subscribe(to: subject) { [weak self] message in
                        guard let self, let news = RouteMessage(message.payload) else { return }
                        self.loop.execute { self.received(news) }
                    })
            } catch {
                logger.error("Cannot listen for routes", [.error: "\(error)"])
            }
        }
    }

    private static func direct(_ node: NodeIdentity) -> Subject {
        Subject("roost", "v1", "node", node.name, node.incarnation.description, "routes")
    }

    // MARK: Messages

    private func received(_ message: RouteMessage) {
        switch message {
        case .batch(let node, let number, let online, let offline):
            onPeer(node.incarnation) { $0.batch(number: number, online: online, offline: offline) }
        case .tip(let node, let number):
            onPeer(node.incarnation) { $0.tip(number: number) }
        case .snapshot(let node, let number, let online, let isFirst, let isLast):
            if isFirst, node != identity { onPeerReturned(node) }
            onPeer(node.incarnation) { $0.snapshotPart(number: number, online: online, isFirst: isFirst, isLast: isLast) }
        case .acknowledgement(let node, let number):
            for waiter in batcher.acknowledged(number, by: node.incarnation) { waiter() }
            // Late: until now this peer did not send those sessions anything.
            if overdue.remove(number) != nil { onMissedEvents() }
            scheduleFlush()
        case .snapshotRequest(let node, let afterGap):
            guard peers[node.incarnation] != nil else { return }
            sendSnapshot()
            if afterGap { onMissedEvents() }
        }
    }

    private func onPeer(_ incarnation: IncarnationID, _ body: (inout PeerRoutes) -> [PeerRoutes.Action]) {
        guard var peer = peers[incarnation], let identity else { return }
        let actions = body(&peer.routes)
        peers[incarnation] = peer
        let bit: UInt64 = peer.bit.map { 1 << UInt64($0) } ?? 0
        // Before anything is taken from the map: whoever finds a user missing there must find the peer incomplete.
        if actions.contains(.clear) { map.updatePeers { $0.incomplete |= bit } }
        for action in actions {
            switch action {
            case .add(let users): if bit != 0 { map.add(users, bit: bit) }
            case .remove(let users): if bit != 0 { map.remove(users, bit: bit) }
            case .clear: if bit != 0 { map.clear(bit: bit) }
            case .requestSnapshot(let afterGap): send(.snapshotRequest(from: identity, afterGap: afterGap), to: peer.node)
            case .acknowledge(let number): send(.acknowledgement(from: identity, number: number), to: peer.node)
            }
        }
        map.updatePeers { state in
            if peer.routes.isComplete { state.incomplete &= ~bit } else { state.incomplete |= bit }
        }
    }

    // MARK: Sending

    private func scheduleFlush() {
        guard !flushScheduled else { return }
        flushScheduled = true
        loop.atEndOfTurn { [self] in
            flushScheduled = false
            flush()
        }
    }

    private func flush() {
        guard let identity else { return }
        let (batch, ready) = batcher.next(peers: Set(peers.keys))
        for waiter in ready { waiter() }
        guard let batch else { return }
        let message = RouteMessage.batch(from: identity, number: batch.number, online: batch.online, offline: batch.offline)
        guard publish(message, to: Self.broadcast) else {
            // Without the bus no event crosses nodes either; the snapshot after the reconnect makes this good.
            for waiter in batcher.timedOut(batch.number) { waiter() }
            return
        }
        loop.schedule(after: acknowledgementTimeout) { [self] in
            let waiters = batcher.timedOut(batch.number)
            if !waiters.isEmpty, overdue.count < 1024 { overdue.insert(batch.number) }
            for waiter in waiters { waiter() }
            scheduleFlush()
        }
    }

    private func sendSnapshot() {
        guard let identity else { return }
        let users = batcher.users
        var start = 0
        repeat {
            let end = min(start + Self.snapshotPartUsers, users.count)
            publish(
                .snapshot(
                    from: identity, number: batcher.lastNumber, online: Array(users[start..<end]), isFirst: start == 0,
                    isLast: end == users.count),
                to: Self.broadcast)
            start = end
        } while start < users.count
    }

    private func send(_ message: RouteMessage, to node: NodeIdentity) {
        publish(message, to: Self.direct(node))
    }

    @discardableResult
    private func publish(_ message: RouteMessage, to subject: Subject) -> Bool {
        do throws(BusError) {
            try bus.publish(message.encoded(), to: subject)
            return true
        } catch {
            return false
        }
    }

    /// Once a second: the number of the last batch, by which peers notice what they missed.
    private func tick() {
        if let identity, !batcher.isWaiting { publish(.tip(from: identity, number: batcher.lastNumber), to: Self.broadcast) }
        loop.schedule(after: .seconds(1)) { [self] in tick() }
    }
}
