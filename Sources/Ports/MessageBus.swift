/// What carries bytes between nodes: at most once, in order per publisher and subject while the connection lasts.
///
/// Publishing never blocks and never buffers across a lost connection: a bus that is away says so at once, and the caller decides.
public protocol MessageBus: Sendable {
    /// The largest payload in bytes; the server says it, so a reconnection may change it.
    var maximumPayloadBytes: Int { get }

    var state: BusState { get }

    /// Sends to all who subscribe now. Returns when the message is on its way, not when it has arrived.
    ///
    /// - Throws: ``BusError`` with `disconnected` or `tooLarge`.
    func publish(_ payload: [UInt8], to subject: Subject) throws(BusError)

    /// Calls `handler` for each message, in the order of arrival, never two at once for one subscription, on a thread of the bus.
    /// The handler must not block. A backlog over the bus's bound is dropped and reported as ``BusEvent/slowConsumer``.
    ///
    /// Allowed while disconnected, and kept across disconnections. What this process publishes afterwards is seen; what others
    /// publish is seen for certain only after ``synchronize(timeout:)``.
    ///
    /// - Returns: what keeps the subscription; it ends when that is released or cancelled.
    /// - Throws: ``BusError`` with `disconnected` where the bus was never started or has been stopped.
    func subscribe(to subject: Subject, handler: @escaping @Sendable (BusMessage) -> Void) throws(BusError) -> any BusSubscription

    /// One question, one answer: `completion` is called once, on a thread of the bus, never before this returns.
    ///
    /// Fails with `noResponders` at once where nobody subscribes, with `timedOut` after `timeout`, with `disconnected` when the
    /// connection is or goes away (the question may have arrived), with `overloaded` where too many wait already, and with `tooLarge`.
    func request(
        _ payload: [UInt8], to subject: Subject, timeout: Duration,
        completion: @escaping @Sendable (Result<[UInt8], BusError>) -> Void)

    /// Calls `completion` once everything this process published and subscribed before has reached the server.
    func synchronize(timeout: Duration, completion: @escaping @Sendable (Result<Void, BusError>) -> Void)

    /// Calls `observer` on each change, one call at a time, on a thread of the bus.
    func observe(_ observer: @escaping @Sendable (BusEvent) -> Void)
}

extension MessageBus {
    /// As ``request(_:to:timeout:completion:)``. The task's cancellation does not end it early.
    public func request(_ payload: [UInt8], to subject: Subject, timeout: Duration) async throws(BusError) -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            request(payload, to: subject, timeout: timeout) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// As ``synchronize(timeout:completion:)``.
    public func synchronize(timeout: Duration) async throws(BusError) {
        let result = await withCheckedContinuation { continuation in
            synchronize(timeout: timeout) { continuation.resume(returning: $0) }
        }
        try result.get()
    }
}

public protocol BusSubscription: AnyObject, Sendable {
    /// No handler call begins after this returns; one that has begun may still be under way. May be called by the handler.
    func cancel()
}

public struct BusMessage: Sendable {
    public let subject: Subject
    public let payload: [UInt8]
    /// Answers a ``MessageBus/request(_:to:timeout:)``; nil for a plain message.
    public let reply: (@Sendable ([UInt8]) -> Void)?

    public init(subject: Subject, payload: [UInt8], reply: (@Sendable ([UInt8]) -> Void)? = nil) {
        self.subject = subject
        self.payload = payload
        self.reply = reply
    }
}

public enum BusState: Sendable { case connected, disconnected }

public enum BusEvent: Sendable, Equatable {
    /// Until ``reconnected``, publishing and asking fail at once.
    case disconnected
    /// Connected again, or for the first time after a start without a server. Whatever anyone published in between is lost.
    case reconnected
    /// This process took messages too slowly, and some were dropped.
    case slowConsumer
}

/// A dot-separated subject. Each token holds letters, digits, `-` and `_` only: user-made text cannot become part of one.
public struct Subject: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// - Precondition: every token is non-empty and made of ASCII letters, digits, `-` and `_`.
    public init(_ tokens: String...) {
        precondition(!tokens.isEmpty && tokens.allSatisfy(Self.isToken), "not a subject token")
        description = tokens.joined(separator: ".")
    }

    public static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                default: false
                }
            }
    }
}

public struct BusError: Error, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// No connection now, or not started, or stopped.
        case disconnected
        /// Over ``MessageBus/maximumPayloadBytes``.
        case tooLarge
        case noResponders
        case timedOut
        /// Too many requests of this process wait for an answer already.
        case overloaded
        /// The server or the library does not accept it: credentials, permissions, out of memory.
        case refused
    }

    public let code: Code
    public let detail: String

    public init(_ code: Code, detail: String = "") {
        self.code = code
        self.detail = detail
    }

    public var isRetryable: Bool {
        switch code {
        case .disconnected, .noResponders, .timedOut, .overloaded: true
        case .tooLarge, .refused: false
        }
    }

    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
