import ChatActors
import ClusterCore
import ClusterMembership
import ClusterOperations
import Gateway
import Ports
import RoostModel
import Runtime

/// Carries what happens to the cluster to the parts of this node.
final class ClusterBridge: ClusterDelegate {
    private let chat: ChatNode
    private let registry: SessionRegistry
    private let watches: WatchHub
    private let drain: NodeDrain
    private let inspection: ActorInspection
    private let logger: Logger
    private let subscription = Locked<(any BusSubscription)?>(nil)

    init(
        chat: ChatNode, registry: SessionRegistry, watches: WatchHub, drain: NodeDrain, inspection: ActorInspection,
        logger: Logger
    ) {
        self.chat = chat
        self.registry = registry
        self.watches = watches
        self.drain = drain
        self.inspection = inspection
        self.logger = logger
    }

    func joined(_ identity: NodeIdentity) async {
        do {
            try await chat.begin(as: identity)
            let answers = try inspection.answer(as: identity)
            subscription.withLock { $0 = answers }
        } catch {
            logger.error("Cannot listen on the bus", [.error: "\(error)"])
        }
    }

    func viewChanged(_ view: ClusterView) async {
        drain.viewChanged(view)
        let changes = chat.apply(view)
        watches.ownersChanged(changes)
        registry.forEach { $0.ownersChanged(changes) }
    }

    func servingChanged(_ isServing: Bool) {
        chat.setServing(isServing)
    }

    func loadSample() async -> LoadReport? {
        guard var report = await chat.loadSample() else { return nil }
        report.sessions = registry.count
        report.residentBytes = ProcessMetrics.residentBytes()
        return report
    }

    func quiesce(_ places: [Place]) async {
        await chat.close(places)
    }
}
