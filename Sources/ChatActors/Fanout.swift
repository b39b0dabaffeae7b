import ActorRuntime
import RoostModel
import Runtime

/// Sends events to every node that has sessions of the recipients: the payload once per node. Used on lanes.
struct Fanout: Sendable {
    let routes: RouteDirectory
    let hub: any SessionHub
    let deliveries: Counter

    /// To all sessions of `event.recipients`. After the commit, never before.
    func send(_ event: FanoutEvent, from lane: Lane) {
        deliveries.increment(by: event.recipients.count)
        if event.recipients.contains(where: hub.hasSessions) { hub.deliver(event) }
        // First who is where, then which peers are known whole: a peer whose users are being read anew is marked before they go.
        let masks = event.recipients.map { routes.map.mask(of: $0) }
        let peers = routes.map.peers
        var union = masks.reduce(peers.incomplete, |)
        while union != 0 {
            let bit = UInt64(union.trailingZeroBitCount)
            union &= union - 1
            guard let node = peers.nodes[Int(bit)] else { continue }
            let isIncomplete = peers.incomplete & (1 << bit) != 0
            let recipients =
                isIncomplete
                ? event.recipients : zip(event.recipients, masks).filter { $1 & (1 << bit) != 0 }.map { $0.0 }
            lane.endpoint.tell(node, event.to(recipients), lane: lane.index)
        }
        for node in peers.untracked { lane.endpoint.tell(node, event, lane: lane.index) }
    }
}

extension FanoutEvent {
    fileprivate func to(_ recipients: [UserID]) -> FanoutEvent {
        FanoutEvent(
            kind: kind, conversationID: conversationID, seq: seq, subject: subject, recipients: recipients, payload: payload)
    }
}
