import EventLoop
import Runtime

/// The node's event loops: lanes host actors, edges hold sockets, and one serves the pool and the admin listener.
final class NodeLoops: Service {
    let name = "loops"
    let lanes: [EventLoop]
    let edges: [EventLoop]
    let store: EventLoop

    init(_ configuration: Configuration) throws {
        lanes = try (0..<configuration[NodeSettings.lanes]).map { try EventLoop(name: "lane-\($0)") }
        edges = try (0..<configuration[NodeSettings.edgeLoops]).map { try EventLoop(name: "edge-\($0)") }
        store = try EventLoop(name: "store")
    }

    private var all: [EventLoop] { lanes + edges + [store] }

    func start() async throws {
        for loop in all { loop.start() }
    }

    func stop() async {
        for loop in all { await loop.stop() }
    }
}
