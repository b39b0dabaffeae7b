import ClusterCore
import EventLoop
import Ports
import RoostModel
import Runtime

/// One loop's part in the actor system: it makes calls, keeps them until they are answered, and repairs what got lost.
///
/// Calls of one endpoint to one actor arrive in the order made, over any number of retries. Confined to its loop.
public final class Endpoint: @unchecked Sendable {
    typealias Completion = (Result<[UInt8], RoostError>) -> Void

    struct PendingCall {
        let address: ActorAddress
        let verb: UInt8
        let payload: [UInt8]
        let completion: Completion
    }

    /// Its number on this node: lanes come first.
    public let index: Int
    public let loop: EventLoop

    private unowned let system: RoostActorSystem
    private var courier: Courier
    private var queue = CommandQueue<ActorAddress, PendingCall>()
    public private(set) var routing = Routing(identity: nil, table: .empty, live: [], isServing: false)

    /// Calls and answers for other loops of this node, handed over once a turn.
    private var localCalls: [[InboundCall]]
    private var localReplies: [[ReplyFrame]]
    private var flushScheduled = false
    private var repairScheduled = false

    init(index: Int, loop: EventLoop, system: RoostActorSystem, bus: any MessageBus, laneCount: Int, endpointCount: Int) {
        self.index = index
        self.loop = loop
        self.system = system
        courier = Courier(bus: bus)
        localCalls = Array(repeating: [], count: laneCount)
        localReplies = Array(repeating: [], count: endpointCount)
    }

    var unansweredCount: Int { queue.count }

    func startTimers() { scheduleExpiry() }

    // MARK: Making calls

    /// Calls an actor wherever it lives. `completion` runs once, on this loop: with the actor's answer, or with its error, or
    /// with `unavailable` after `timeout` or when too many calls wait.
    public func call(
        _ address: ActorAddress, verb: UInt8, payload: [UInt8], timeout: Duration,
        completion: @escaping (Result<[UInt8], RoostError>) -> Void
    ) {
        let call = PendingCall(address: address, verb: verb, payload: payload, completion: completion)
        let deadline = (MonotonicTime.now + timeout).nanoseconds
        switch queue.submit(call, to: address, deadline: deadline, probing: !isConfirmed(address)) {
        case .send(let id): send(id, call)
        case .held: break
        case .full:
            system.metrics.rejectedCalls.increment()
            completion(.failure(.unavailable))
        }
    }

    private func send(_ id: UInt64, _ call: PendingCall) {
        guard let owner = routing.owner(of: call.address) else { return startRepair(of: call.address) }
        let lane = call.address.lane(of: localCalls.count)
        if routing.isHere(owner) {
            localCalls[lane].append(
                InboundCall(
                    address: call.address, verb: call.verb, payload: call.payload, id: id, origin: .local(endpoint: index))
            )
        } else if system.busIsConnected {
            courier.add(
                .call(CallFrame(id: id, address: call.address, verb: call.verb, payload: call.payload)),
                to: Destination(node: owner, endpoint: lane), header: header)
        } else {
            // Without the bus the owner cannot be reached; the caller may try again, elsewhere perhaps.
            finish(id, .failure(.unavailable))
            return
        }
        scheduleFlush()
    }

    /// Ends a call, however it ended; a second answer finds nothing.
    private func finish(_ id: UInt64, _ result: Result<[UInt8], RoostError>) {
        let call = queue.answered(id)
        for sending in queue.takeReleased() { send(sending.id, sending.payload) }
        call?.completion(result)
    }

    /// Shards whose owner has answered us since it became one: commands to them need not go one by one.
    private var confirmed: Set<ShardID> = []
    /// The same of actors that live apart from their shards.
    private var confirmedPins: Set<ActorAddress> = []

    private func isConfirmed(_ address: ActorAddress) -> Bool {
        switch routing.table.place(of: address) {
        case .shard(let shard): confirmed.contains(shard)
        case .actor: confirmedPins.contains(address)
        }
    }

    private func confirm(_ address: ActorAddress) {
        switch routing.table.place(of: address) {
        case .shard(let shard): confirmed.insert(shard)
        case .actor: confirmedPins.insert(address)
        }
    }

    /// Ends a call that the owner itself has answered.
    private func finish(_ id: UInt64, answered result: Result<[UInt8], RoostError>) {
        if let address = queue.address(of: id) { confirm(address) }
        finish(id, result)
    }

    // MARK: Answers

    func received(_ reply: ReplyFrame) {
        switch reply.outcome {
        case .success(let payload): finish(reply.id, answered: .success(payload))
        case .failure(let error): finish(reply.id, answered: .failure(error))
        case .notOwner:
            system.metrics.notOwnerAnswers.increment()
            guard let address = queue.address(of: reply.id) else { return }
            confirmed.remove(address.shard)
            confirmedPins.remove(address)
            system.routingLooksStale()
            if queue.beginRepair(of: address) { repairing.insert(address) }
            scheduleRepair()
        }
    }

    private var repairing: Set<ActorAddress> = []

    private func startRepair(of address: ActorAddress) {
        guard queue.beginRepair(of: address) else { return }
        repairing.insert(address)
        scheduleRepair()
    }

    /// Tries again a little later, or at once when the routing changes: the two nodes' tables differ for a few milliseconds only.
    /// What is refused again and again is tried less often.
    private func scheduleRepair() {
        guard !repairScheduled, !repairing.isEmpty else { return }
        repairScheduled = true
        loop.schedule(after: repairDelay) { [self] in
            repairScheduled = false
            repairDelay = min(repairDelay * 2, Self.longestRepairDelay)
            repair()
            if repairing.isEmpty { repairDelay = Self.shortestRepairDelay }
        }
    }

    private static let shortestRepairDelay: Duration = .milliseconds(5)
    private static let longestRepairDelay: Duration = .milliseconds(40)
    private var repairDelay = shortestRepairDelay

    private func repair() {
        let addresses = repairing.filter { routing.owner(of: $0) != nil }
        repairing.subtract(addresses)
        for address in addresses {
            let probing = !isConfirmed(address)
            for sending in queue.resend(address, probing: probing) { send(sending.id, sending.payload) }
        }
        // An address whose calls have all expired meanwhile is let go as well.
        for address in repairing where queue.depth(of: address) == 0 {
            repairing.remove(address)
            _ = queue.resend(address)
        }
        scheduleRepair()
    }

    /// Calls on their way to an actor whose owner changed are sent again to the new one; the old one's answers may be lost.
    func apply(_ new: Routing) {
        let old = routing
        routing = new
        confirmed = confirmed.filter { old.table.owner(of: $0) == new.table.owner(of: $0) }
        confirmedPins = confirmedPins.filter {
            new.table.place(of: $0) == .actor($0) && old.table.owner(of: $0) == new.table.owner(of: $0)
        }
        courier.forget(except: new.live)
        let moved = queue.beginRepair { old.owner(of: $0) != new.owner(of: $0) }
        repairing.formUnion(moved)
        repairDelay = Self.shortestRepairDelay
        repair()
    }

    /// The bus was away: calls and answers that crossed it may be lost.
    func busReconnected() {
        let remote = queue.beginRepair { address in
            guard let owner = routing.owner(of: address) else { return false }
            return !routing.isHere(owner)
        }
        repairing.formUnion(remote)
        repair()
    }

    func resend(to node: NodeIdentity) {
        let affected = queue.beginRepair { address in routing.owner(of: address)?.incarnation == node.incarnation }
        repairing.formUnion(affected)
        repair()
    }

    /// Nothing crosses the bus now: calls to other nodes fail at once rather than at their deadline.
    func busDisconnected() {
        let remote = queue.beginRepair { address in
            guard let owner = routing.owner(of: address) else { return false }
            return !routing.isHere(owner)
        }
        for address in remote {
            // Resending while disconnected ends each with `unavailable`.
            for sending in queue.resend(address) { send(sending.id, sending.payload) }
        }
    }

    private func scheduleExpiry() {
        loop.schedule(after: .milliseconds(100)) { [self] in
            for expired in queue.expire(at: MonotonicTime.now.nanoseconds) {
                system.metrics.expiredCalls.increment()
                expired.payload.completion(.failure(.unavailable))
            }
            for sending in queue.takeReleased() { send(sending.id, sending.payload) }
            scheduleExpiry()
        }
    }

    // MARK: Answering and telling

    func answer(_ call: InboundCall, _ outcome: CallOutcome) {
        let reply = ReplyFrame(id: call.id, outcome: outcome)
        switch call.origin {
        case .local(let endpoint): localReplies[endpoint].append(reply)
        case .remote(let node, let endpoint):
            courier.add(.reply(reply), to: Destination(node: node, endpoint: Int(endpoint)), header: header)
        }
        scheduleFlush()
    }

    /// Tells another node's sessions. The endpoint is the conversation's lane there, which keeps a conversation's events in order.
    public func tell(_ node: NodeIdentity, _ event: FanoutEvent, lane: Int) {
        courier.add(.event(event), to: Destination(node: node, endpoint: lane), header: header)
        scheduleFlush()
    }

    /// Sends a word to a node, this one perhaps.
    public func tell(_ node: NodeIdentity, _ notice: NodeNotice) {
        if routing.isHere(node) { return system.deliver(notice) }
        courier.add(.notice(notice), to: Destination(node: node, endpoint: 0), header: header)
        scheduleFlush()
    }

    // MARK: The end of the turn

    private var header: BatchHeader {
        // Before joining nothing is sent; the placeholder never leaves the process.
        BatchHeader(
            sender: routing.identity ?? NodeIdentity(name: "-", incarnation: IncarnationID(high: 0, low: 0)),
            endpoint: UInt16(index))
    }

    private func scheduleFlush() {
        guard !flushScheduled else { return }
        flushScheduled = true
        loop.atEndOfTurn { [self] in flush() }
    }

    private func flush() {
        flushScheduled = false
        courier.flush()
        for lane in localCalls.indices where !localCalls[lane].isEmpty {
            let calls = localCalls[lane]
            localCalls[lane].removeAll(keepingCapacity: true)
            system.lanes[lane].receive(calls)
        }
        for endpoint in localReplies.indices where !localReplies[endpoint].isEmpty {
            let replies = localReplies[endpoint]
            localReplies[endpoint].removeAll(keepingCapacity: true)
            system.endpoints[endpoint].receive(replies)
        }
    }

    /// Answers made on another loop, or on this one. Any thread.
    func receive(_ replies: [ReplyFrame]) {
        loop.run { for reply in replies { self.received(reply) } }
    }
}

extension Lane {
    /// Calls made on another loop, or on this one. Any thread.
    func receive(_ calls: [InboundCall]) {
        loop.run { for call in calls { self.deliver(call) } }
    }
}
