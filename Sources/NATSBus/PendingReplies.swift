import Dispatch
import Ports
import Runtime

/// Requests without an answer so far. Their time-outs share one tick, so that a request costs no timer of its own.
final class PendingReplies: Sendable {
    typealias Completion = @Sendable (Result<[UInt8], BusError>) -> Void

    /// Time-outs are rounded up to whole ticks.
    private static let tick: Duration = .milliseconds(10)

    private struct State {
        var nextID: UInt64 = 0
        var waiting: [UInt64: Completion] = [:]
        /// Which requests end at which tick; those answered meanwhile are still among them.
        var due: [Int64: [UInt64]] = [:]
        var lastTick: Int64 = 0
        var isTicking = false
    }

    private let state = Locked(State())
    /// Completions without an answer are called here: serial, and not on a thread of Swift's pool.
    private let queue = DispatchQueue(label: "roost.bus.replies")
    private let start = ContinuousClock.now

    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.waiting.count } }

    /// - Returns: the id under which to ``complete(_:with:)``; nil where too many wait, and then the completion is called later.
    func add(timeout: Duration, _ completion: @escaping Completion) -> UInt64? {
        let ticks = 1 + Int64((timeout / Self.tick).rounded(.up))
        let (id, mustTick) = state.withLock { state -> (UInt64?, Bool) in
            if state.waiting.count >= limit { return (nil, false) }
            state.nextID += 1
            state.waiting[state.nextID] = completion
            let mustTick = !state.isTicking
            if mustTick { state.lastTick = currentTick() }
            state.isTicking = true
            // A tick that has been dealt with never comes again.
            state.due[max(currentTick(), state.lastTick) + ticks, default: []].append(state.nextID)
            return (state.nextID, mustTick)
        }
        if id == nil { queue.async { completion(.failure(BusError(.overloaded))) } }
        if mustTick { scheduleTick() }
        return id
    }

    /// Calls the completion on the caller's thread; does nothing where the request has ended.
    func complete(_ id: UInt64, with result: Result<[UInt8], BusError>) {
        let completion = state.withLock { $0.waiting.removeValue(forKey: id) }
        completion?(result)
    }

    /// As ``complete(_:with:)``, later, on the queue.
    func fail(_ id: UInt64, _ error: BusError) {
        queue.async { self.complete(id, with: .failure(error)) }
    }

    func failAll(_ error: BusError) {
        let all = state.withLock { state in
            let all = state.waiting
            state.waiting = [:]
            return all
        }
        if all.isEmpty { return }
        queue.async { for completion in all.values { completion(.failure(error)) } }
    }

    private func currentTick() -> Int64 { Int64((ContinuousClock.now - start) / Self.tick) }

    private func scheduleTick() {
        queue.asyncAfter(deadline: .now() + .milliseconds(10)) { self.expire() }
    }

    private func expire() {
        let now = currentTick()
        let (expired, mustTick) = state.withLock { state in
            var expired: [Completion] = []
            while state.lastTick < now {
                state.lastTick += 1
                for id in state.due.removeValue(forKey: state.lastTick) ?? [] {
                    if let completion = state.waiting.removeValue(forKey: id) { expired.append(completion) }
                }
            }
            if state.waiting.isEmpty {
                state.due = [:]
                state.isTicking = false
            }
            return (expired, state.isTicking)
        }
        for completion in expired { completion(.failure(BusError(.timedOut))) }
        if mustTick { scheduleTick() }
    }
}
