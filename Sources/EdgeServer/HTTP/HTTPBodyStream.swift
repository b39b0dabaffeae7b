import Locks

/// A request body as it arrives. One reader; while it lags, the socket is not read, so that no more than a bound waits in memory.
public final class HTTPBodyStream: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias AsyncIterator = Iterator

    /// Why a body ended early.
    public enum Failed: Error, Sendable {
        /// The client went away, or was too slow.
        case broken
        /// Longer than the limit; the client has its 413.
        case tooLarge
        /// The chunked coding is broken; the client has its 400.
        case malformed
    }

    private struct State {
        var pieces: [[UInt8]] = []
        var head = 0
        var bytes = 0
        var end: Result<Void, Failed>?
        var isPaused = false
        var waiter: CheckedContinuation<[UInt8]?, any Error>?
    }

    private let state = Locked(State())
    private let limit: Int
    private let resume: @Sendable () -> Void

    /// - Parameter resume: asks the connection to read on; called from any thread.
    init(limit: Int, resume: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.resume = resume
    }

    /// - Returns: whether the connection should stop reading.
    func push(_ piece: [UInt8]) -> Bool {
        let (waiter, pause) = state.withLock { state -> (CheckedContinuation<[UInt8]?, any Error>?, Bool) in
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, false)
            }
            state.pieces.append(piece)
            state.bytes += piece.count
            state.isPaused = state.bytes >= limit
            return (nil, state.isPaused)
        }
        waiter?.resume(returning: piece)
        return pause
    }

    func finish(_ end: Result<Void, Failed>) {
        let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            if state.end == nil { state.end = end }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: end.map { nil }.mapError { $0 })
    }

    private enum Next {
        case piece([UInt8], resume: Bool)
        case end(Result<Void, Failed>)
        case wait
    }

    fileprivate func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            let next = state.withLock { state -> Next in
                if state.head < state.pieces.count {
                    let piece = state.pieces[state.head]
                    state.head += 1
                    state.bytes -= piece.count
                    if state.head == state.pieces.count {
                        state.pieces.removeAll(keepingCapacity: true)
                        state.head = 0
                    }
                    let wake = state.isPaused && state.bytes <= limit / 2
                    if wake { state.isPaused = false }
                    return .piece(piece, resume: wake)
                }
                if let end = state.end { return .end(end) }
                precondition(state.waiter == nil, "a body has one reader")
                state.waiter = continuation
                return .wait
            }
            switch next {
            case .piece(let piece, let wake):
                if wake { resume() }
                continuation.resume(returning: piece)
            case .end(let end): continuation.resume(with: end.map { nil }.mapError { $0 })
            case .wait: break
            }
        }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    public struct Iterator: AsyncIteratorProtocol {
        let stream: HTTPBodyStream
        /// - Throws: ``HTTPBodyStream/Failed``.
        public mutating func next() async throws -> [UInt8]? { try await stream.next() }
    }
}
