import Runtime

/// A queue between many senders and one receiver, in the order of arrival.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiter: CheckedContinuation<[Element]?, Never>?
        var isOpen = true
    }

    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: what ``offer(_:)`` respects.
    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.elements.count } }

    /// Whether the receiver waits and nothing is there for it.
    var isIdle: Bool { state.withLock { $0.elements.isEmpty && ($0.waiter != nil || !$0.isOpen) } }

    /// Adds an element, however many wait; false where the mailbox is closed.
    @discardableResult
    func post(_ element: Element) -> Bool { add(element, respectsLimit: false) }

    /// Adds an element unless too many wait; false where it was dropped.
    func offer(_ element: Element) -> Bool { add(element, respectsLimit: true) }

    private func add(_ element: Element, respectsLimit: Bool) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, CheckedContinuation<[Element]?, Never>?) in
            guard state.isOpen, !respectsLimit || state.elements.count < limit else { return (false, nil) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (true, waiter)
            }
            state.elements.append(element)
            return (true, nil)
        }
        waiter?.resume(returning: [element])
        return isTaken
    }

    /// All that wait, once there is at least one; nil when the mailbox is closed. For one receiver.
    func next() async -> [Element]? {
        await withCheckedContinuation { continuation in
            let (isReady, elements) = state.withLock { state -> (Bool, [Element]?) in
                if !state.elements.isEmpty {
                    let elements = state.elements
                    state.elements = []
                    return (true, elements)
                }
                if !state.isOpen { return (true, nil) }
                state.waiter = continuation
                return (false, nil)
            }
            if isReady { continuation.resume(returning: elements) }
        }
    }

    /// Lets the receiver have what waits, then nil.
    func close() {
        let waiter = state.withLock { state in
            state.isOpen = false
            let waiter = state.waiter
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: nil)
    }
}
