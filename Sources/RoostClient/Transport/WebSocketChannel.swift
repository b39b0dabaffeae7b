import EdgeCodec
import EventLoop
import Runtime

/// A WebSocket for ordinary async code, over ``WebSocketClient``. While nobody receives, a bounded number of messages waits and then the
/// socket is read no further.
public final class WebSocketChannel: Sendable {
    public enum Message: Sendable, Equatable {
        case text(String)
        case binary([UInt8])

        public var text: String? {
            switch self {
            case .text(let text): text
            case .binary: nil
            }
        }
    }

    private struct State {
        var messages: [Message] = []
        var head = 0
        var isPaused = false
        var waiters: [CheckedContinuation<Message?, Never>] = []
        var closure: WebSocketClientClosure?
        var closeWaiters: [CheckedContinuation<WebSocketClientClosure, Never>] = []
        var opening: CheckedContinuation<Void, any Error>?
        var subprotocol: String?
    }

    /// Beyond it the socket is not read.
    private static let messageLimit = 1024

    private let state = Locked(State())
    private let client = Locked<WebSocketClient?>(nil)
    private let context: ClientLoop

    private init(_ context: ClientLoop) { self.context = context }

    /// Connects and shakes hands.
    /// - Throws: ``WebSocketOpenError``.
    public static func connect(_ context: ClientLoop, _ configuration: WebSocketClientConfiguration) async throws
        -> WebSocketChannel
    {
        let channel = WebSocketChannel(context)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            channel.state.withLock { $0.opening = continuation }
            context.loop.execute {
                let client = WebSocketClient(context, configuration, delegate: Delegate(channel))
                channel.client.withLock { $0 = client }
                client.connect()
            }
        }
        return channel
    }

    /// The server's choice of subprotocol.
    public var subprotocol: String? { state.withLock { $0.subprotocol } }

    /// Queues a text message. Messages of one task keep their order.
    /// - Returns: false where it could not be queued (closed, or too much waits).
    @discardableResult
    public func send(_ text: String) async -> Bool { await onLoop { $0.sendText(text) } ?? false }

    @discardableResult
    public func send(binary: [UInt8]) async -> Bool {
        await onLoop { client in binary.withUnsafeBytes { client.sendBinary($0) } } ?? false
    }

    public func ping(_ payload: [UInt8] = []) async { await onLoop { $0.sendPing(payload) } }

    /// Bytes as they are, for tests of the server.
    public func sendRaw(_ bytes: [UInt8]) async { await onLoop { $0.sendRaw(bytes) } }

    /// The next message in order; nil once the socket has closed and all is taken.
    public func receive() async -> Message? {
        await withCheckedContinuation { continuation in
            let (message, resume) = state.withLock { state -> (Message??, Bool) in
                if state.head < state.messages.count {
                    let message = state.messages[state.head]
                    state.head += 1
                    if state.head == state.messages.count {
                        state.messages.removeAll(keepingCapacity: true)
                        state.head = 0
                    }
                    let resume = state.isPaused && state.messages.count - state.head < Self.messageLimit / 2
                    if resume { state.isPaused = false }
                    return (.some(message), resume)
                }
                if state.closure != nil { return (.some(nil), false) }
                state.waiters.append(continuation)
                return (nil, false)
            }
            if resume {
                let client = client.withLock { $0 }
                context.loop.execute { client?.pauseReading(false) }
            }
            if let message { continuation.resume(returning: message) }
        }
    }

    /// Sends a close frame; ``closed()`` tells when it is over.
    public func close(code: UInt16 = WebSocketCloseCode.normal, reason: String = "") async {
        await onLoop { $0.close(code: code, reason: reason) }
    }

    /// Ends without a close frame, as a crash would.
    public func abort() async { await onLoop { $0.abort() } }

    /// Waits until the connection has ended.
    public func closed() async -> WebSocketClientClosure {
        await withCheckedContinuation { continuation in
            let closure = state.withLock { state -> WebSocketClientClosure? in
                if state.closure == nil { state.closeWaiters.append(continuation) }
                return state.closure
            }
            if let closure { continuation.resume(returning: closure) }
        }
    }

    @discardableResult
    private func onLoop<Result: Sendable>(_ work: @escaping @Sendable (WebSocketClient) -> Result) async -> Result? {
        guard let client = client.withLock({ $0 }) else { return nil }
        return await withCheckedContinuation { continuation in
            context.loop.execute { continuation.resume(returning: work(client)) }
        }
    }

    // MARK: From the loop

    private func opened(_ subprotocol: String?) {
        let opening = state.withLock { state in
            state.subprotocol = subprotocol
            defer { state.opening = nil }
            return state.opening
        }
        opening?.resume()
    }

    private func received(_ message: Message, _ socket: WebSocketClient) {
        let (waiter, pause) = state.withLock { state -> (CheckedContinuation<Message?, Never>?, Bool) in
            if !state.waiters.isEmpty { return (state.waiters.removeFirst(), false) }
            state.messages.append(message)
            state.isPaused = state.messages.count - state.head >= Self.messageLimit
            return (nil, state.isPaused)
        }
        waiter?.resume(returning: message)
        if pause { socket.pauseReading(true) }
    }

    private func ended(_ how: WebSocketClientClosure) {
        let (opening, waiters, closeWaiters) = state.withLock { state in
            state.closure = how
            defer {
                state.opening = nil
                state.waiters = []
                state.closeWaiters = []
            }
            return (state.opening, state.waiters, state.closeWaiters)
        }
        client.withLock { $0 = nil }
        opening?.resume(throwing: WebSocketOpenError(closure: how))
        for waiter in waiters { waiter.resume(returning: nil) }
        for waiter in closeWaiters { waiter.resume(returning: how) }
    }

    private final class Delegate: WebSocketClientDelegate {
        private let channel: WebSocketChannel
        init(_ channel: WebSocketChannel) { self.channel = channel }

        func opened(_ socket: WebSocketClient, subprotocol: String?) { channel.opened(subprotocol) }
        func received(text: UnsafeRawBufferPointer, _ socket: WebSocketClient) {
            channel.received(.text(String(decoding: text, as: UTF8.self)), socket)
        }
        func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketClient) {
            channel.received(.binary(Array(binary)), socket)
        }
        func closed(_ how: WebSocketClientClosure, _ socket: WebSocketClient) { channel.ended(how) }
    }
}

/// The socket never opened; `closure` says why.
public struct WebSocketOpenError: Error, Sendable, Equatable {
    public let closure: WebSocketClientClosure
}
