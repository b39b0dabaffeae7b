import Dispatch
import Ports
import Runtime

/// The "server" of buses in memory: several ``MemoryBus`` connections, as several nodes have to one NATS.
///
/// Tests cut single connections or all of them, and lose or delay messages through a filter.
public final class MemoryBusHub: Sendable {
    /// What becomes of a message on its way to one subscriber.
    public enum Verdict: Sendable {
        case deliver
        case drop
        /// Later, so that later messages may overtake it.
        case delay(Duration)
    }

    /// Who sent it, who is to get it (the names of their connections), and where it goes.
    public struct Passage: Sendable {
        public let sender: String
        public let receiver: String
        public let subject: Subject
    }

    public typealias Filter = @Sendable (Passage) -> Verdict

    struct State {
        var subscriptions: [Subject: [MemorySubscription]] = [:]
        var buses: [WeakBus] = []
        var isUp = true
        var filter: Filter?
    }

    struct WeakBus {
        weak var bus: MemoryBus?
    }

    let state = Locked(State())
    let maximumPayloadBytes: Int
    let backlogLimit: Int
    let pendingLimit: Int

    /// - Parameters:
    ///   - maximumPayloadBytes: of a message.
    ///   - backlogLimit: messages that may wait for one subscriber; more are dropped.
    ///   - pendingLimit: requests of one connection that may wait for their answers; more fail with `overloaded`.
    public init(maximumPayloadBytes: Int = 1 << 20, backlogLimit: Int = 65_536, pendingLimit: Int = 65_536) {
        self.pendingLimit = pendingLimit
        self.maximumPayloadBytes = maximumPayloadBytes
        self.backlogLimit = backlogLimit
    }

    /// A connection. The hub does not keep it alive.
    public func connect(_ name: String) -> MemoryBus {
        let bus = MemoryBus(name: name, hub: self)
        let isUp = state.withLock { state in
            state.buses.removeAll { $0.bus == nil }
            state.buses.append(WeakBus(bus: bus))
            return state.isUp
        }
        if !isUp { bus.setConnected(false) }
        return bus
    }

    /// Cuts all connections, as when the server ends. Subscriptions stay, and work again after ``reconnect()``.
    public func disconnect() { setUp(false) }
    public func reconnect() { setUp(true) }

    /// Asked for every message and subscriber, under the hub's lock: it must be quick and must not use a bus.
    public func setFilter(_ filter: Filter?) { state.withLock { $0.filter = filter } }

    private func setUp(_ isUp: Bool) {
        let buses = state.withLock { state in
            state.isUp = isUp
            return state.buses.compactMap(\.bus)
        }
        for bus in buses { bus.setConnected(isUp) }
    }

    // MARK: For the connections

    /// - Returns: how many subscribe.
    func publish(_ message: BusMessage, from sender: String) -> Int {
        // Under the lock, so that all subscribers see one order.
        state.withLock { state in
            let subscriptions = state.subscriptions[message.subject] ?? []
            for subscription in subscriptions {
                let receiver = subscription.bus.name
                let addressed = BusMessage(
                    subject: message.subject, payload: message.payload,
                    reply: message.reply.map { reply in answering(message.subject, from: subscription.bus, to: sender, reply) })
                switch state.filter?(Passage(sender: sender, receiver: receiver, subject: message.subject)) ?? .deliver {
                case .deliver: subscription.enqueue(addressed, limit: backlogLimit, after: nil)
                case .drop: break
                case .delay(let delay): subscription.enqueue(addressed, limit: backlogLimit, after: delay)
                }
            }
            return subscriptions.count
        }
    }

    /// An answer takes the same way back: it is lost where the filter says so or the connection is cut, and so is one too large.
    private func answering(
        _ subject: Subject, from bus: MemoryBus, to asker: String, _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) -> @Sendable ([UInt8]) -> Void {
        { answer in
            guard bus.state == .connected, answer.count <= self.maximumPayloadBytes else { return }
            let verdict = self.state.withLock {
                $0.filter?(Passage(sender: bus.name, receiver: asker, subject: subject)) ?? .deliver
            }
            switch verdict {
            case .deliver: reply(answer)
            case .drop: break
            case .delay(let delay):
                DispatchQueue.global().asyncAfter(deadline: .now() + DispatchTimeInterval(delay)) { reply(answer) }
            }
        }
    }

    func add(_ subscription: MemorySubscription) {
        state.withLock { $0.subscriptions[subscription.subject, default: []].append(subscription) }
    }

    func remove(_ subscription: MemorySubscription) {
        state.withLock { state in
            state.subscriptions[subscription.subject]?.removeAll { $0 === subscription }
            if state.subscriptions[subscription.subject]?.isEmpty == true { state.subscriptions[subscription.subject] = nil }
        }
    }
}

extension DispatchTimeInterval {
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}
