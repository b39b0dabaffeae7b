import EventLoop
import Glibc
import Locks

/// An HTTP/1.1 and WebSocket server over event loops: one listener per loop on one port (SO_REUSEPORT), each connection confined to
/// the loop that accepted it.
public final class EdgeServer: Sendable {
    public let metrics: EdgeMetrics
    public let configuration: EdgeConfiguration
    private let edges: [EdgeLoop]
    private let state = Locked(State())

    private struct State {
        var listeners: [SendableListener] = []
        var port: Int?
    }

    /// Used on its loop only.
    private struct SendableListener: @unchecked Sendable {
        let listener: Listener
        let loop: EventLoop
    }

    /// - Parameter loops: running loops, which the caller keeps and stops; connections are spread over them by the kernel.
    public init(configuration: EdgeConfiguration, loops: [EventLoop], handler: any EdgeHandler) {
        precondition(!loops.isEmpty, "a server needs a loop")
        self.configuration = configuration
        let metrics = EdgeMetrics(loops: loops.count)
        self.metrics = metrics
        edges = loops.enumerated().map { index, loop in
            EdgeLoop(loop, index: index, configuration: configuration, handler: handler, metrics: metrics)
        }
    }

    /// The bound port, once started.
    public var port: Int? { state.withLock { $0.port } }

    /// Binds and begins to accept.
    /// - Returns: the bound port.
    /// - Throws: `EventLoopError`, with EADDRINUSE also where another process listens with SO_REUSEPORT.
    @discardableResult
    public func start() async throws -> Int {
        let shared = edges.count > 1
        if shared && configuration.port != 0 {
            // With SO_REUSEPORT alone two servers would share a port without a word, and each get half the clients.
            let probe = try SocketAddress.listen(
                host: configuration.host, port: configuration.port, backlog: 1, shared: false)
            close(probe.descriptor)
        }
        var port = configuration.port
        var descriptors: [Int32] = []
        do {
            for _ in edges {
                let bound = try SocketAddress.listen(
                    host: configuration.host, port: port, backlog: configuration.backlog, shared: shared)
                port = bound.port
                descriptors.append(bound.descriptor)
            }
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
        for (edge, descriptor) in zip(edges, descriptors) {
            let listener = SendableListener(listener: Listener(descriptor: descriptor, edge: edge), loop: edge.loop)
            state.withLock { $0.listeners.append(listener) }
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                edge.loop.execute {
                    edge.startSweeping()
                    continuation.resume(with: Result { try listener.listener.start() })
                }
            }
        }
        let bound = port
        state.withLock { $0.port = bound }
        return port
    }

    /// Closes the listeners; connections go on.
    public func stopAccepting() async {
        let listeners = state.withLock { state in
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                listener.loop.execute {
                    listener.listener.stop()
                    continuation.resume()
                }
            }
        }
    }

    /// Stops accepting, lets requests in flight end and closes WebSockets with 1001; after `grace` drops what is left.
    public func stop(grace: Duration) async {
        await stopAccepting()
        await withTaskGroup(of: Void.self) { group in
            for edge in edges {
                group.addTask {
                    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                        edge.loop.execute {
                            let timer = edge.loop.schedule(after: grace) { edge.dropAll() }
                            edge.windDown {
                                timer.cancel()
                                edge.stopSweeping()
                                continuation.resume()
                            }
                        }
                    }
                }
            }
        }
    }
}
