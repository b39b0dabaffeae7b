import Dispatch
import Ports
import Runtime

/// A connection to a ``MemoryBusHub``.
public final class MemoryBus: MessageBus {
    public let name: String
    private let hub: MemoryBusHub
    private let shared = Locked(State())
    /// Calls observers and completions.
    private let queue = DispatchQueue(label: "roost.memory-bus")

    private struct State {
        var isConnected = true
        var observers: [@Sendable (BusEvent) -> Void] = []
        var nextID = 0
        var waiting: [Int: @Sendable (Result<[UInt8], BusError>) -> Void] = [:]
    }

    init(name: String, hub: MemoryBusHub) {
        self.name = name
        self.hub = hub
    }

    /// Cuts this connection alone: a node that the network has left.
    public func disconnect() { setConnected(false) }
    public func reconnect() { setConnected(true) }

    public var maximumPayloadBytes: Int { hub.maximumPayloadBytes }

    public var state: BusState { shared.withLock { $0.isConnected } ? .connected : .disconnected }

    public func publish(_ payload: [UInt8], to subject: Subject) throws(BusError) {
        try check(payload)
        _ = hub.publish(BusMessage(subject: subject, payload: payload), from: name)
    }

    public func subscribe(
        to subject: Subject, handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> any BusSubscription {
        let subscription = MemorySubscription(subject: subject, bus: self, handler: handler)
        hub.add(subscription)
        return MemorySubscriptionHandle(subscription, hub: hub)
    }

    public func request(
        _ payload: [UInt8], to subject: Subject, timeout: Duration,
        completion: @escaping @Sendable (Result<[UInt8], BusError>) -> Void
    ) {
        guard let id = add(completion) else {
            queue.async { completion(.failure(BusError(.overloaded))) }
            return
        }
        do throws(BusError) {
            try check(payload)
        } catch {
            complete(id, .failure(error))
            return
        }
        let message = BusMessage(subject: subject, payload: payload) { answer in
            self.complete(id, .success(answer))
        }
        if hub.publish(message, from: name) == 0 {
            complete(id, .failure(BusError(.noResponders)))
        } else {
            queue.asyncAfter(deadline: .now() + DispatchTimeInterval(timeout)) {
                self.complete(id, .failure(BusError(.timedOut)))
            }
        }
    }

    public func synchronize(timeout: Duration, completion: @escaping @Sendable (Result<Void, BusError>) -> Void) {
        // The hub has everything the moment it is published.
        let result: Result<Void, BusError> = state == .connected ? .success(()) : .failure(BusError(.disconnected))
        queue.async { completion(result) }
    }

    public func observe(_ observer: @escaping @Sendable (BusEvent) -> Void) {
        shared.withLock { $0.observers.append(observer) }
    }

    // MARK: Inside

    func setConnected(_ isConnected: Bool) {
        let (hasChanged, failed) = shared.withLock { state in
            let hasChanged = state.isConnected != isConnected
            state.isConnected = isConnected
            let failed = isConnected ? [] : Array(state.waiting.keys)
            return (hasChanged, failed)
        }
        for id in failed { complete(id, .failure(BusError(.disconnected))) }
        if hasChanged { tell(isConnected ? .reconnected : .disconnected) }
    }

    func tell(_ event: BusEvent) {
        queue.async { [shared] in
            for observer in shared.withLock({ $0.observers }) { observer(event) }
        }
    }

    private func check(_ payload: [UInt8]) throws(BusError) {
        if payload.count > maximumPayloadBytes {
            throw BusError(.tooLarge, detail: "\(payload.count) bytes, at most \(maximumPayloadBytes)")
        }
        if state == .disconnected { throw BusError(.disconnected) }
    }

    private func add(_ completion: @escaping @Sendable (Result<[UInt8], BusError>) -> Void) -> Int? {
        shared.withLock { state -> Int? in
            if state.waiting.count >= hub.pendingLimit { return nil }
            state.nextID += 1
            state.waiting[state.nextID] = completion
            return state.nextID
        }
    }

    private func complete(_ id: Int, _ result: Result<[UInt8], BusError>) {
        guard let completion = shared.withLock({ $0.waiting.removeValue(forKey: id) }) else { return }
        queue.async { completion(result) }
    }
}
