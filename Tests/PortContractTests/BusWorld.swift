import MemoryAdapters
import NATSBus
import Ports
import Runtime
import Synchronization
import TestSupport
import Testing

/// Which implementation a contract test runs on.
enum BusKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, nats
    var testDescription: String { rawValue }
}

/// A server and connections to it, of either kind.
final class BusWorld: Sendable {
    private enum Server: Sendable {
        case memory(MemoryBusHub)
        case nats(NATSServerProcess, isShared: Bool)
    }

    private let server: Server
    private let backlogLimit: Int
    private let pendingLimit: Int
    private let buses = Locked<[NATSBus]>([])

    /// - Parameter mayStop: gives it a server of its own.
    init(_ kind: BusKind, mayStop: Bool = false, backlogLimit: Int = 200_000, pendingLimit: Int = 65_536) async throws {
        self.pendingLimit = pendingLimit
        self.backlogLimit = backlogLimit
        switch kind {
        case .memory: server = .memory(MemoryBusHub(backlogLimit: backlogLimit, pendingLimit: pendingLimit))
        case .nats:
            let process = mayStop ? try await NATSServerProcess.make() : try await NATSServerProcess.shared()
            server = .nats(process, isShared: !mayStop)
        }
    }

    func connect(_ name: String) async throws -> any MessageBus {
        switch server {
        case .memory(let hub): return hub.connect(name)
        case .nats(let process, _):
            var options = NATSBusOptions(url: process.url, name: name)
            options.backlogMessages = backlogLimit
            options.pendingRequests = pendingLimit
            let bus = NATSBus(options)
            try await bus.start()
            buses.withLock { $0.append(bus) }
            return bus
        }
    }

    func stopServer() async {
        switch server {
        case .memory(let hub): hub.disconnect()
        case .nats(let process, _): await process.kill()
        }
    }

    func startServer() async throws {
        switch server {
        case .memory(let hub): hub.reconnect()
        case .nats(let process, _): try await process.start()
        }
    }

    func close() async {
        let open = buses.withLock { $0 }
        for bus in open { await bus.stop() }
        if case .nats(let process, isShared: false) = server { await process.remove() }
    }

    /// Runs `body` in a world of its own.
    static func with(
        _ kind: BusKind, mayStop: Bool = false, backlogLimit: Int = 200_000, pendingLimit: Int = 65_536,
        _ body: (BusWorld) async throws -> Void
    ) async throws {
        let world = try await BusWorld(kind, mayStop: mayStop, backlogLimit: backlogLimit, pendingLimit: pendingLimit)
        do { try await body(world) } catch {
            await world.close()
            throw error
        }
        await world.close()
    }

    private static let subjects = Atomic<Int>(0)

    /// A subject that no other test of any process uses.
    static func subject() -> Subject {
        let number = subjects.wrappingAdd(1, ordering: .relaxed).newValue
        return Subject("test", String(UInt32.random(in: .min ... .max)), "\(number)")
    }
}

/// Gathers what handlers are given, in order.
final class Collector<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [(isMet: @Sendable ([Element]) -> Bool, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Locked(State())

    var elements: [Element] { state.withLock { $0.elements } }

    func add(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            if state.waiters.isEmpty { return [(CheckedContinuation<[Element], Never>, [Element])]() }
            let elements = state.elements
            let ready = state.waiters.filter { $0.isMet(elements) }.map { ($0.continuation, elements) }
            state.waiters.removeAll { $0.isMet(elements) }
            return ready
        }
        for (continuation, elements) in ready { continuation.resume(returning: elements) }
    }

    /// All elements, once there are `count`; the test's time limit ends a wait in vain.
    @discardableResult
    func wait(for count: Int) async -> [Element] { await wait { $0.count >= count } }

    @discardableResult
    func wait(until isMet: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        await withCheckedContinuation { continuation in
            let elements = state.withLock { state -> [Element]? in
                if isMet(state.elements) { return state.elements }
                state.waiters.append((isMet, continuation))
                return nil
            }
            if let elements { continuation.resume(returning: elements) }
        }
    }
}

extension MessageBus {
    func publish(_ number: Int, to subject: Subject) throws(BusError) {
        try publish(withUnsafeBytes(of: number) { Array($0) }, to: subject)
    }

    /// Nobody's answer is late in a test: a limit only against hanging.
    func synchronize() async throws(BusError) { try await synchronize(timeout: .seconds(30)) }
}

extension BusMessage {
    var number: Int { payload.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } }
}
