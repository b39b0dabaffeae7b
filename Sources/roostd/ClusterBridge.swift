import ChatActors
import ClusterCore
import ClusterMembership
import Gateway
import RoostModel
import Runtime

/// Carries what happens to the cluster to the parts of this node.
final class ClusterBridge: ClusterDelegate {
    private let chat: ChatNode
    private let registry: SessionRegistry
    private let watches: WatchHub
    private let logger: Logger

    init(chat: ChatNode, registry: SessionRegistry, watches: WatchHub, logger: Logger) {
        self.chat = chat
        self.registry = registry
        self.watches = watches
        self.logger = logger
    }

    func joined(_ identity: NodeIdentity) async {
        do {
            try await chat.begin(as: identity)
        } catch {
            logger.error("Cannot listen on the bus", [.error: "\(error)"])
        }
    }

    func viewChanged(_ view: ClusterView) async {
        let changes = chat.apply(view)
        watches.ownersChanged(changes)
        registry.forEach { $0.ownersChanged(changes) }
    }

    func servingChanged(_ isServing: Bool) {
        chat.setServing(isServing)
    }

    func quiesce(_ places: [Place]) async {
        await chat.close(places)
    }
}
