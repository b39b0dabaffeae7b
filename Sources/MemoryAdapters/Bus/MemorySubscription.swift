import Dispatch
import Ports
import Runtime

/// One subscriber: a serial queue with a bounded backlog.
final class MemorySubscription: Sendable {
    let subject: Subject
    let bus: MemoryBus
    private let handler: @Sendable (BusMessage) -> Void
    private let queue = DispatchQueue(label: "roost.memory-bus.subscription")
    private let state = Locked(State())

    private struct State {
        var isOpen = true
        var backlog = 0
        var isDropping = false
    }

    init(subject: Subject, bus: MemoryBus, handler: @escaping @Sendable (BusMessage) -> Void) {
        self.subject = subject
        self.bus = bus
        self.handler = handler
    }

    func close() -> Bool {
        state.withLock { state in
            let wasOpen = state.isOpen
            state.isOpen = false
            return wasOpen
        }
    }

    func enqueue(_ message: BusMessage, limit: Int, after delay: Duration?) {
        // A cut connection receives nothing; what has arrived before is still handled.
        guard bus.state == .connected else { return }
        let (isAccepted, mustAlarm) = state.withLock { state in
            if !state.isOpen { return (false, false) }
            if state.backlog >= limit {
                let isFirst = !state.isDropping
                state.isDropping = true
                return (false, isFirst)
            }
            state.isDropping = false
            state.backlog += 1
            return (true, false)
        }
        if mustAlarm { bus.tell(.slowConsumer) }
        guard isAccepted else { return }
        if let delay {
            queue.asyncAfter(deadline: .now() + DispatchTimeInterval(delay)) { self.deliver(message) }
        } else {
            queue.async { self.deliver(message) }
        }
    }

    private func deliver(_ message: BusMessage) {
        let isOpen = state.withLock { state in
            state.backlog -= 1
            return state.isOpen
        }
        if isOpen { handler(message) }
    }
}

/// What the subscriber holds: releasing it ends the subscription, which the hub keeps meanwhile.
final class MemorySubscriptionHandle: BusSubscription {
    private let subscription: MemorySubscription
    private let hub: MemoryBusHub

    init(_ subscription: MemorySubscription, hub: MemoryBusHub) {
        self.subscription = subscription
        self.hub = hub
    }

    deinit { cancel() }

    func cancel() {
        if subscription.close() { hub.remove(subscription) }
    }
}
