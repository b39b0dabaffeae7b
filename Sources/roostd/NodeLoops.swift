import EventLoop
import Glibc
import Runtime

/// The node's event loops: lanes host actors, edges hold sockets, and one serves the pool and the admin listener.
final class NodeLoops: Service {
    let name = "loops"
    let lanes: [EventLoop]
    let edges: [EventLoop]
    let store: EventLoop

    init(_ configuration: Configuration) throws {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        lanes = try Self.make("lane", configuration[NodeSettings.lanes], default: min(16, (cores + 1) / 2))
        edges = try Self.make("edge", configuration[NodeSettings.edgeLoops], default: min(64, cores))
        store = try EventLoop(name: "store")
    }

    private static func make(_ name: String, _ count: Int, default standard: Int) throws -> [EventLoop] {
        try (0..<(count == 0 ? standard : count)).map { try EventLoop(name: "\(name)-\($0)") }
    }

    private var all: [EventLoop] { lanes + edges + [store] }

    func start() async throws {
        for loop in all { loop.start() }
    }

    func stop() async {
        for loop in all { await loop.stop() }
    }
}
