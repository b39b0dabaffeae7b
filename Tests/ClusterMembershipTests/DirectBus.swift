import Ports
import Runtime
import TestSupport

/// A bus whose messages arrive before `publish` returns, and whose time is a manual clock's: nothing is under way unseen.
final class DirectBusHub: Sendable {
    struct Entry: Sendable {
        let id: Int
        let subject: Subject
        let handler: @Sendable (BusMessage) -> Void
        let owner: DirectBus
    }

    private let entries = Locked<[Entry]>([])
    private let nextID = Locked(0)
    let clock: ManualClock
    /// Time-outs that run, each a sleeper of the clock.
    let timeouts = Locked(0)
    var timeoutCount: Int { timeouts.withLock { $0 } }

    init(clock: ManualClock) { self.clock = clock }

    func add(_ subject: Subject, _ owner: DirectBus, _ handler: @escaping @Sendable (BusMessage) -> Void) -> Int {
        let id = nextID.withLock { id in
            id += 1
            return id
        }
        entries.withLock { $0.append(Entry(id: id, subject: subject, handler: handler, owner: owner)) }
        return id
    }

    func remove(_ id: Int) { entries.withLock { $0.removeAll { $0.id == id } } }

    /// How many subscribe.
    func deliver(_ message: BusMessage) -> Int {
        let receivers = entries.withLock { $0.filter { $0.subject == message.subject && $0.owner.state == .connected } }
        for receiver in receivers { receiver.handler(message) }
        return receivers.count
    }
}

final class DirectBus: MessageBus {
    private struct Shared {
        var isConnected = true
        var observers: [@Sendable (BusEvent) -> Void] = []
    }

    private let hub: DirectBusHub
    private let shared = Locked(Shared())
    let maximumPayloadBytes = 1 << 20

    init(_ hub: DirectBusHub) { self.hub = hub }

    var state: BusState { shared.withLock { $0.isConnected ? .connected : .disconnected } }

    func setConnected(_ isConnected: Bool) {
        let observers = shared.withLock { shared in
            shared.isConnected = isConnected
            return shared.observers
        }
        for observer in observers { observer(isConnected ? .reconnected : .disconnected) }
    }

    func publish(_ payload: [UInt8], to subject: Subject) throws(BusError) {
        guard state == .connected else { throw BusError(.disconnected) }
        _ = hub.deliver(BusMessage(subject: subject, payload: payload))
    }

    func subscribe(to subject: Subject, handler: @escaping @Sendable (BusMessage) -> Void) throws(BusError) -> any BusSubscription
    {
        Subscription(id: hub.add(subject, self, handler), hub: hub)
    }

    func request(
        _ payload: [UInt8], to subject: Subject, timeout: Duration,
        completion: @escaping @Sendable (Result<[UInt8], BusError>) -> Void
    ) {
        let once = Locked<(@Sendable (Result<[UInt8], BusError>) -> Void)?>(completion)
        let end: @Sendable (Result<[UInt8], BusError>) -> Void = { result in
            let completion = once.withLock { once in
                let completion = once
                once = nil
                return completion
            }
            completion?(result)
        }
        guard state == .connected else { return end(.failure(BusError(.disconnected))) }
        let message = BusMessage(subject: subject, payload: payload) { end(.success($0)) }
        if hub.deliver(message) == 0 { return end(.failure(BusError(.noResponders))) }
        let hub = hub
        hub.timeouts.withLock { $0 += 1 }
        Task {
            try? await hub.clock.sleep(until: hub.clock.now.advanced(by: timeout))
            hub.timeouts.withLock { $0 -= 1 }
            end(.failure(BusError(.timedOut)))
        }
    }

    func synchronize(timeout: Duration, completion: @escaping @Sendable (Result<Void, BusError>) -> Void) {
        completion(.success(()))
    }

    func observe(_ observer: @escaping @Sendable (BusEvent) -> Void) { shared.withLock { $0.observers.append(observer) } }

    private final class Subscription: BusSubscription {
        let id: Int
        let hub: DirectBusHub

        init(id: Int, hub: DirectBusHub) {
            self.id = id
            self.hub = hub
        }

        deinit { cancel() }
        func cancel() { hub.remove(id) }
    }
}
