import ClusterCore
import RoostModel

/// Calls the delegate, one call at a time, in order, beside the loop.
final class DelegateQueue: Sendable {
    private enum Call: Sendable {
        case joined(NodeIdentity)
        case view(ClusterView)
        case quiesce(NodeIdentity, [ShardID])
        case leave(NodeIdentity, [ShardID])
    }

    private let node: ClusterNode
    private let delegate: any ClusterDelegate
    private let calls = Mailbox<Call>(limit: 64)

    init(_ node: ClusterNode, delegate: any ClusterDelegate) {
        self.node = node
        self.delegate = delegate
    }

    /// The caller then loads no further views; those are the only calls whose number nothing else bounds.
    var isFull: Bool { calls.count >= 64 }

    /// No call is under way or waits.
    var isIdle: Bool { node.delegateCallCount.load(ordering: .relaxed) == 0 }

    func joined(_ identity: NodeIdentity) { post(.joined(identity)) }
    func view(_ view: ClusterView) { post(.view(view)) }
    func quiesce(_ identity: NodeIdentity, _ shards: [ShardID]) { post(.quiesce(identity, shards)) }
    func leave(_ identity: NodeIdentity, _ shards: [ShardID]) { post(.leave(identity, shards)) }
    func close() { calls.close() }

    private func post(_ call: Call) {
        node.delegateCallCount.add(1, ordering: .relaxed)
        calls.post(call)
    }

    func run() async {
        while let batch = await calls.next() {
            for call in batch {
                await perform(call)
                node.delegateCallCount.subtract(1, ordering: .relaxed)
            }
        }
    }

    private func perform(_ call: Call) async {
        switch call {
        case .joined(let identity):
            await delegate.joined(identity)
            // What the delegate subscribed to must be known to the server before anybody sends to it.
            try? await node.bus.synchronize(timeout: node.options.timings.probeTimeout)
            node.mailbox.post(.announced(identity))
        case .view(let view):
            await delegate.viewChanged(view)
            node.setJoined()
        case .quiesce(let identity, let shards):
            await delegate.quiesce(shards)
            node.mailbox.post(.quiesced(identity, shards))
        case .leave(let identity, let shards):
            if !shards.isEmpty { await delegate.quiesce(shards) }
            node.mailbox.post(.quiescedToLeave(identity))
        }
    }
}
