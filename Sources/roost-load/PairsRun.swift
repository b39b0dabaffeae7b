import EventLoop
import LoadCore
import RoostClient
import RoostModel
import RoostProtocol

/// Clients in pairs that write to each other, and the books of it. Everything happens on one loop, by callbacks. Confined to it.
final class PairsRun: LoadClientOwner, @unchecked Sendable {
    enum Phase { case connecting, running, settling, ended }

    /// A chat between clients `2 × pair` and `2 × pair + 1`.
    struct Chat: Sendable {
        let conversation: ConversationID
        let sessions: [AuthSession]
    }

    let options: LoadOptions
    let text: LoadText
    let api: NodeAPI
    let context: ClientLoop
    let chats: [Chat]
    var clients: [LoadClient] = []
    /// By pair.
    var ledgers: [ConversationLedger]
    var tally = Tally()
    var phase = Phase.connecting
    var startedAt: Int64 = 0
    /// What each client does about what it missed.
    var catchUps: [CatchUp]
    private var schedule: SendSchedule?
    private var rotation: Rotation
    private var pacer: Pacer?
    /// Clients with sends that could not be written at once.
    private var hasBacklog: [Bool]
    private var refusals: [Int]
    private var random: SeededRandom
    private var connected: (() -> Void)?
    private var nextToConnect = 0
    private var readyOnce = 0

    /// Unanswered sends on one socket; more wait in the books.
    private static let window = 512
    /// Sockets that are opened at once.
    private static let openAtOnce = 128
    /// The schedule is looked at so often at most, in nanoseconds: sends that are due closer together leave together.
    private static let grain: Int64 = 200_000
    /// After so many refusals in a row a client tries another node, but not more often than that.
    private static let patience = 4
    private static let stay = Duration.seconds(3)

    init(_ options: LoadOptions, text: LoadText, api: NodeAPI, context: ClientLoop, chats: [Chat]) {
        self.options = options
        self.text = text
        self.api = api
        self.context = context
        self.chats = chats
        ledgers = chats.indices.map { ConversationLedger(pair: $0) }
        let count = chats.count * 2
        rotation = Rotation(count: count, seed: options.seed)
        random = SeededRandom(seed: options.seed &+ 1)
        hasBacklog = Array(repeating: false, count: count)
        refusals = Array(repeating: 0, count: count)
        catchUps = Array(repeating: CatchUp(), count: count)
        let nodes = api.targets.count
        clients = (0..<count).map { index in
            // Partners are with different nodes.
            LoadClient(
                index: index, session: chats[index / 2].sessions[index % 2], node: (index / 2 + index % 2) % nodes,
                sourceAddress: nil, api: api, context: context, owner: self)
        }
    }

    var loop: EventLoop { context.loop }
    func now() -> Int64 { MonotonicTime.now.nanoseconds }

    // MARK: Phases

    /// Opens all sockets; `done` is called once every one has been greeted.
    func connect(_ done: @escaping () -> Void) {
        connected = done
        for _ in 0..<min(Self.openAtOnce, clients.count) { connectNext() }
        sweepLater()
    }

    private func connectNext() {
        guard nextToConnect < clients.count else { return }
        clients[nextToConnect].connect()
        nextToConnect += 1
    }

    func start() throws {
        phase = .running
        startedAt = now()
        for pair in ledgers.indices { ledgers[pair].gaps.begin(at: startedAt) }
        switch options.pacing {
        case .rate(let rate):
            schedule = SendSchedule(start: startedAt, rate: rate, end: .max)
            let pacer = try Pacer(loop)
            self.pacer = pacer
            pacer.due = { [unowned self] in sendDue() }
            pacer.start()
        case .inFlight(let count): for _ in 0..<count { sendNext(scheduledAt: startedAt) }
        }
    }

    /// No new sends; what is under way goes on.
    func stopSending() {
        guard phase == .running else { return }
        // What was due before the end belongs to the load, though the loop may be late.
        _ = sendDue()
        phase = .settling
        pacer?.stop()
        pacer = nil
        let time = now()
        for pair in ledgers.indices { ledgers[pair].gaps.end(at: time) }
    }

    /// Whether every send is answered and every acknowledged message is at both ends.
    var isSettled: Bool {
        guard tally.acknowledged + tally.failed >= tally.scheduled else { return false }
        return ledgers.allSatisfy(\.isSettled)
    }

    func end() {
        phase = .ended
        for client in clients { client.stop() }
    }

    // MARK: Sending

    private func sendDue() -> Int64? {
        guard phase == .running else { return nil }
        let time = now()
        while let due = schedule?.take(at: time) {
            tally.sendLag.record((time - due.time) / 1000)
            sendNext(scheduledAt: due.time)
        }
        return schedule?.next.map { max($0, time + Self.grain) }
    }

    private func sendNext(scheduledAt time: Int64) {
        let index = rotation.next()
        let number = ledgers[index / 2].senders[index % 2].schedule(at: time)
        tally.scheduled += 1
        if hasBacklog[index] || !write(number, index) { hasBacklog[index] = true }
    }

    /// False if it must wait.
    private func write(_ number: Int, _ index: Int) -> Bool {
        let (pair, side) = (index / 2, index % 2)
        let client = clients[index]
        guard client.isReady, ledgers[pair].senders[side].inFlight < Self.window else { return false }
        let key = SendKey(pair: pair, side: side, number: number)
        let body = SendBody(clientID: text.clientID(key), text: String(decoding: text.text(key), as: UTF8.self))
        let frame = ClientFrame(id: FrameID(number), operation: .send(conversationID: chats[pair].conversation, body))
        guard client.send(frame) else { return false }
        tally.attempts += 1
        ledgers[pair].senders[side].wrote(number, at: now())
        return true
    }

    /// Writes what waits, oldest first, as far as there is room.
    private func flush(_ index: Int) {
        let (pair, side) = (index / 2, index % 2)
        hasBacklog[index] = false
        guard clients[index].isReady else {
            hasBacklog[index] = true
            return
        }
        let room = Self.window - ledgers[pair].senders[side].inFlight
        let due = ledgers[pair].senders[side].due(at: now(), limit: room + 1)
        for number in due where !write(number, index) {
            hasBacklog[index] = true
            return
        }
    }

    private func slotFree() {
        guard phase == .running, case .inFlight = options.pacing else { return }
        sendNext(scheduledAt: now())
    }

    // MARK: LoadClientOwner

    func ready(_ client: LoadClient, isReturn: Bool) {
        ledgers[client.index / 2].beginSession(side: client.index % 2)
        flush(client.index)
        if isReturn {
            tally.reconnects += 1
            catchUp(client.index, withSync: true)
            return
        }
        readyOnce += 1
        connectNext()
        if readyOnce == clients.count, let connected {
            self.connected = nil
            connected()
        }
    }

    func received(_ bytes: UnsafeBufferPointer<UInt8>, _ client: LoadClient) {
        let (pair, side) = (client.index / 2, client.index % 2)
        switch LoadFrame.parse(bytes, run: text) {
        case .message(let conversation, let seq, let message):
            guard conversation == chats[pair].conversation else {
                tally.unexpected += 1
                return
            }
            let needsRepair = ledgers[pair].event(
                receiver: side, seq: seq, key: message?.key, isIntact: message?.isIntact ?? false, at: now(), &tally)
            if needsRepair { catchUp(client.index, withSync: false) }
        case .accepted(let id, let seq):
            guard id < LoadClient.otherRequests else { return }
            guard let seq else {
                tally.unexpected += 1
                return
            }
            refusals[client.index] = 0
            let before = tally.acknowledged
            ledgers[pair].acknowledge(side: side, number: id, seq: seq, at: now(), &tally)
            if hasBacklog[client.index] { flush(client.index) }
            if tally.acknowledged > before { slotFree() }
        case .refused(let id, let code): refused(client, id: id, code: code)
        case .ready: client.greeted()
        case .resync:
            tally.resyncs += 1
            catchUp(client.index, withSync: true)
        case .goaway(let seconds):
            tally.goaways += 1
            client.moveOn(within: seconds)
        case .other: break
        case .unreadable: tally.unexpected += 1
        }
    }

    private func refused(_ client: LoadClient, id: Int?, code: String) {
        guard let id, id < LoadClient.otherRequests else {
            tally.unexpected += 1
            return
        }
        let (pair, side) = (client.index / 2, client.index % 2)
        guard ErrorCode(rawValue: code)?.isRetryable == true else {
            ledgers[pair].refuse(side: side, number: id, code: code, retryAt: nil, &tally)
            slotFree()
            return
        }
        // 0.1 to 0.2 s at first, up to 1 s: many clients with many sends must not keep a server down that is.
        let doublings = min(ledgers[pair].senders[side].attempts(of: id), 4)
        let longest = min(1000, 100 << doublings)
        let pause = Duration.milliseconds(Int.random(in: longest / 2...longest, using: &random))
        let retryAt = now() + pause.nanoseconds
        ledgers[pair].refuse(side: side, number: id, code: code, retryAt: retryAt, &tally)
        loop.schedule(after: pause) { [weak self] in self?.flush(client.index) }
        refusals[client.index] += 1
        if refusals[client.index] >= Self.patience, client.readyFor > Self.stay {
            refusals[client.index] = 0
            client.moveOn()
        }
    }

    func drained(_ client: LoadClient) {
        if hasBacklog[client.index] { flush(client.index) }
    }

    func lost(_ client: LoadClient) {
        ledgers[client.index / 2].sessionLost(side: client.index % 2)
        hasBacklog[client.index] = true
    }

    func died(_ client: LoadClient, _ reason: String) {
        tally.deadClients += 1
        Output.complain("client \(client.index): \(reason)\n")
    }

    func refreshedToken(_ client: LoadClient) { tally.tokenRefreshes += 1 }
}
