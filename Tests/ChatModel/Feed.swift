import EventLoop
import RoostClient
import RoostProtocol
import Runtime

/// One socket of a run: what came is kept in its order until somebody looks.
final class Feed: WebSocketClientDelegate, @unchecked Sendable {
    // Confined to the client's loop but for `state`.
    private struct State {
        var frames: [[UInt8]] = []
        var isOpen = false
        var closure: WebSocketClientClosure?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())
    private let loop: EventLoop
    private var client: WebSocketClient?

    private init(_ loop: EventLoop) { self.loop = loop }

    /// A socket whose hello is on its way.
    static func connect(_ context: ClientLoop, _ node: NodeAddress, token: String) async throws -> Feed {
        let feed = Feed(context.loop)
        context.loop.execute {
            var configuration = WebSocketClientConfiguration(host: node.host, port: node.port, path: "/v1/ws")
            configuration.subprotocols = ["roost.v1"]
            configuration.silenceTimeout = nil
            feed.client = WebSocketClient(context, configuration, delegate: feed)
            feed.client?.connect()
        }
        let deadline = MonotonicTime.now + .seconds(20)
        while !feed.state.withLock({ $0.isOpen }) {
            if feed.closure != nil || MonotonicTime.now > deadline {
                throw ModelFault("no socket: \(String(describing: feed.closure))")
            }
            await feed.wait(until: deadline)
        }
        feed.send(.object(["op": .string("hello"), "token": .string(token)]))
        return feed
    }

    var closure: WebSocketClientClosure? { state.withLock { $0.closure } }

    func send(_ frame: JSONValue) {
        let text = frame.line
        loop.execute { _ = self.client?.sendText(text) }
    }

    /// Everything that has come since.
    func take() -> [[UInt8]] {
        state.withLock { state in
            defer { state.frames = [] }
            return state.frames
        }
    }

    /// Until something is there to look at, or the time is over.
    func wait(until deadline: MonotonicTime) async {
        let timer = Locked<TimerBox?>(nil)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isIdle = state.withLock { state in
                guard state.frames.isEmpty, state.closure == nil else { return false }
                state.waiter = continuation
                return true
            }
            guard isIdle else { return continuation.resume() }
            loop.execute {
                let made = self.loop.schedule(after: max(.zero, deadline - .now)) { self.wake() }
                timer.withLock { $0 = TimerBox(timer: made) }
            }
        }
        loop.execute { timer.withLock { $0 }?.timer.cancel() }
    }

    func close() { loop.execute { self.client?.close() } }

    private struct TimerBox: @unchecked Sendable { let timer: LoopTimer }

    private func wake() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    // MARK: WebSocketClientDelegate

    func opened(_ socket: WebSocketClient, subprotocol: String?) {
        state.withLock { $0.isOpen = true }
        wake()
    }

    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketClient) {
        let bytes = Array(text)
        state.withLock { $0.frames.append(bytes) }
        wake()
    }

    func closed(_ how: WebSocketClientClosure, _ socket: WebSocketClient) {
        state.withLock { $0.closure = how }
        client = nil
        wake()
    }
}

struct NodeAddress: Sendable {
    let host: String
    let port: Int

    /// - Parameter url: `http://host:port`, with a numeric host.
    init(_ url: String) throws {
        let parts = url.split(separator: "/").last?.split(separator: ":") ?? []
        guard parts.count == 2, let port = Int(parts[1]) else { throw ModelFault("no address of a node: \(url)") }
        host = String(parts[0])
        self.port = port
    }
}

/// Where the server and the model disagree, or why a run cannot go on.
public struct ModelFault: Error, CustomStringConvertible {
    public var description: String
    init(_ description: String) { self.description = description }
}
