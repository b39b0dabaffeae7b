import ClusterCore
import RoostModel

/// Calls the delegate, one call at a time, in order, beside the loop.
final class DelegateQueue: Sendable {
    private enum Call: Sendable {
        case joined(NodeIdentity)
        case view(ClusterView)
        case quiesce(NodeIdentity, [Place])
        case leave(NodeIdentity, [Place])
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
    func quiesce(_ identity: NodeIdentity, _ places: [Place]) { post(.quiesce(identity, places)) }
    func leave(_ identity: NodeIdentity, _ places: [Place]) { post(.leave(identity, places)) }
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
        case .quiesce(let identity, let places):
            let start = node.time.now()
            await delegate.quiesce(places)
            node.mailbox.post(.quiesced(identity, places, since: start))
        case .leave(let identity, let places):
            if !places.isEmpty { await delegate.quiesce(places) }
            node.mailbox.post(.quiescedToLeave(identity))
        }
    }
}
