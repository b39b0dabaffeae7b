import EventLoop
import LoadCore
import RoostClient
import RoostModel
import RoostProtocol
import Runtime

/// Opens authenticated sockets that only stay open, and says what they cost the nodes in memory.
struct IdleCommand: Sendable {
    let options: LoadOptions
    let surroundings: Surroundings
    let context: ClientLoop
    let stop: StopSignal
    /// Prints the line that says that the sockets are open.
    var announces = true

    func run() async throws -> IdleReport {
        let api = NodeAPI(surroundings.targets, context: context, connections: options.accountConcurrency)
        let before = residentBytes()
        let guests = try await Accounts(api: api, atOnce: options.accountConcurrency).makeGuests(options.clients, named: "Idle")
        await api.close()
        await stop.wait(seconds: 1)
        var report = IdleReport(clients: options.clients)
        let withAccounts = residentBytes()
        let crowd = IdleCrowd(guests, api: api, context: context)
        let start = MonotonicTime.now
        context.loop.execute { crowd.open() }
        let deadline = start + .seconds(60) + .milliseconds(options.clients * 5)
        while await count(crowd, { $0.everReady }) < options.clients, !stop.isSet {
            guard MonotonicTime.now < deadline else { throw LoadFault("not all sockets could be opened") }
            try await Task.sleep(for: .milliseconds(20))
        }
        report.openSeconds = Double((MonotonicTime.now - start).nanoseconds) / 1e9
        if announces {
            Output.print(JSONText.object([("event", .string("started")), ("clients", .int(options.clients))]).text + "\n")
        }
        await stop.wait(seconds: options.untilStopped ? nil : options.seconds)
        report.alive = await count(crowd) { $0.alive }
        report.breaks = await count(crowd) { $0.breaks }
        let after = residentBytes()
        for (index, target) in surroundings.targets.enumerated() {
            let sockets = await count(crowd) { $0.sockets(on: index) }
            report.nodes.append(
                IdleReport.Node(
                    name: target.name, sockets: sockets, before: before[index], withAccounts: withAccounts[index],
                    after: after[index]))
        }
        context.loop.execute { crowd.close() }
        return report
    }

    private func residentBytes() -> [Int?] { surroundings.targets.map { $0.pid.flatMap(ProcessWatch.residentBytes) } }

    private func count(_ crowd: IdleCrowd, _ value: @escaping @Sendable (IdleCrowd) -> Int) async -> Int {
        await withCheckedContinuation { continuation in
            context.loop.execute { continuation.resume(returning: value(crowd)) }
        }
    }
}

/// The clients of an idle run. Confined to its loop.
final class IdleCrowd: LoadClientOwner, @unchecked Sendable {
    private var clients: [LoadClient] = []
    private let context: ClientLoop
    private var next = 0
    private(set) var everReady = 0
    private(set) var breaks = 0

    private static let openAtOnce = 256
    /// Sockets from one own address; it has some 28,000 ports for each server address.
    private static let perAddress = 4000

    init(_ guests: [AuthSession], api: NodeAPI, context: ClientLoop) {
        self.context = context
        clients = guests.enumerated().map { index, session in
            let node = index % api.targets.count
            let isLoopback = api.targets[node].host.hasPrefix("127.")
            return LoadClient(
                index: index, session: session, node: node,
                sourceAddress: isLoopback ? "127.0.0.\(1 + index / Self.perAddress % 200)" : nil, api: api, context: context,
                owner: self)
        }
    }

    var alive: Int { clients.reduce(0) { $0 + ($1.isReady ? 1 : 0) } }
    func sockets(on node: Int) -> Int { clients.reduce(0) { $0 + ($1.isReady && $1.node == node ? 1 : 0) } }

    func open() {
        for _ in 0..<min(Self.openAtOnce, clients.count) { openNext() }
    }

    func close() {
        for client in clients { client.stop() }
    }

    private func openNext() {
        guard next < clients.count else { return }
        clients[next].connect()
        next += 1
    }

    func ready(_ client: LoadClient, isReturn: Bool) {
        guard !isReturn else { return }
        everReady += 1
        openNext()
    }

    func received(_ text: UnsafeBufferPointer<UInt8>, _ client: LoadClient) {
        // The first event of a session is `ready`.
        if !client.isReady, case .ready = LoadFrame.parse(text, run: Self.noRun) { client.greeted() }
    }

    private static let noRun = LoadText(run: "none", bytes: 1, seed: 0)

    func drained(_ client: LoadClient) {}
    func lost(_ client: LoadClient) { breaks += 1 }
    func died(_ client: LoadClient, _ reason: String) { breaks += 1 }
    func refreshedToken(_ client: LoadClient) {}
}
