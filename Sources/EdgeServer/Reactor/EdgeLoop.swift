import EventLoop
import Glibc

/// A socket's state machine on one loop.
protocol EdgeConnection: AnyObject, ReadinessHandler {
    /// Its place in ``EdgeLoop``'s list.
    var slot: Int { get set }
    /// Writes what has gathered, at the end of a turn.
    func flush()
    /// Looks at the clock, about once a second.
    func sweep(_ now: MonotonicTime)
    /// Ends as soon as that is polite: the server stops.
    func windDown()
    /// Ends at once.
    func drop()
}

/// What all connections of one loop share: the read buffer, spare outboxes, zlib states, the list to flush at the end of the turn and
/// the list to sweep once a second. Confined to its loop.
final class EdgeLoop: @unchecked Sendable {
    let loop: EventLoop
    let configuration: EdgeConfiguration
    let handler: any EdgeHandler
    let metrics: EdgeMetrics
    let counters: EdgeMetrics.Counters
    let outboxes = OutboxPool()
    let compression = WebSocketCompressionPool()
    /// Everything is read into it and parsed from it; only what is incomplete at the end of a read is copied.
    let readBuffer: UnsafeMutableRawBufferPointer
    let requestIDs: RequestIDs
    private(set) var date = HTTPDate()

    private var connections: [any EdgeConnection] = []
    private var dirty: [any EdgeConnection] = []
    private var ended: [WebSocketConnection] = []
    private var endOfTurnPlanned = false
    private var sweepTimer: LoopTimer?
    private(set) var isStopping = false
    private var whenEmpty: [() -> Void] = []

    init(_ loop: EventLoop, index: Int, configuration: EdgeConfiguration, handler: any EdgeHandler, metrics: EdgeMetrics) {
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        self.metrics = metrics
        counters = metrics.counters(index)
        readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 64)
        requestIDs = RequestIDs()
    }

    deinit { readBuffer.deallocate() }

    // MARK: Connections

    func add(_ connection: any EdgeConnection) {
        connection.slot = connections.count
        connections.append(connection)
        counters.connectionsOpen.bump()
    }

    /// An upgrade: another state machine takes the socket over.
    func replace(_ old: any EdgeConnection, with new: any EdgeConnection) {
        new.slot = old.slot
        connections[old.slot] = new
        old.slot = -1
    }

    func remove(_ connection: any EdgeConnection) {
        guard connection.slot >= 0 else { return }
        let last = connections.removeLast()
        if connection.slot < connections.count {
            connections[connection.slot] = last
            last.slot = connection.slot
        }
        connection.slot = -1
        counters.connectionsOpen.bump(-1)
        if connections.isEmpty { announceEmpty() }
    }

    // MARK: End of turn

    func flushAtEndOfTurn(_ connection: any EdgeConnection) {
        dirty.append(connection)
        planEndOfTurn()
    }

    func announceClosedAtEndOfTurn(_ connection: WebSocketConnection) {
        ended.append(connection)
        planEndOfTurn()
    }

    private func planEndOfTurn() {
        if endOfTurnPlanned { return }
        endOfTurnPlanned = true
        loop.atEndOfTurn(endTurn)
    }

    /// Made once: a closure for every turn would be an allocation for every turn.
    private lazy var endTurn: () -> Void = { [unowned self] in
        self.endOfTurnPlanned = false
        if !self.ended.isEmpty {
            let ended = self.ended
            self.ended.removeAll(keepingCapacity: ended.count < 256)
            for connection in ended { connection.announceClosed() }
        }
        var index = 0
        // A flush may end a connection, and that may make others dirty.
        while index < self.dirty.count {
            self.dirty[index].flush()
            index += 1
        }
        self.dirty.removeAll(keepingCapacity: self.dirty.count < 4096)
        if !self.ended.isEmpty { self.planEndOfTurn() }
    }

    // MARK: Sweep

    func startSweeping() {
        sweepTimer = loop.schedule(after: configuration.sweepInterval) { [weak self] in
            guard let self else { return }
            let now = MonotonicTime.now
            // From the end, as a connection that ends swaps the last one into its place.
            for index in stride(from: self.connections.count - 1, through: 0, by: -1) where index < self.connections.count {
                self.connections[index].sweep(now)
            }
            self.startSweeping()
        }
    }

    // MARK: Stopping

    /// Winds all connections down; `done` is called once none is left.
    func windDown(_ done: @escaping () -> Void) {
        isStopping = true
        whenEmpty.append(done)
        for connection in connections { connection.windDown() }
        if connections.isEmpty { announceEmpty() }
    }

    func dropAll() {
        for connection in connections { connection.drop() }
        if connections.isEmpty { announceEmpty() }
    }

    func stopSweeping() {
        sweepTimer?.cancel()
        sweepTimer = nil
    }

    private func announceEmpty() {
        let waiting = whenEmpty
        whenEmpty = []
        for done in waiting { done() }
    }
}
