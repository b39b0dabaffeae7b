import RoostModel

/// Judges from heartbeats and probes which of the other nodes have fallen silent.
///
/// A node whose heartbeats fail for ``ClusterTimings/silence`` is probed directly; a failed probe makes it suspect, anything heard
/// makes it well again. The judgement is a hint for the leader, never the ground of safety. It is not trusted while this node's
/// own connection is the likelier culprit: the bus is away or has only just come back, or more than half of the others are
/// suspect at once. Times are since any fixed moment of a monotonic clock.
public struct FailureDetector: Sendable {
    public enum Health: Hashable, Sendable {
        case alive
        case probing
        case suspect
    }

    private struct Peer: Sendable {
        enum State: Sendable {
            case alive
            case probing(since: Duration)
            case suspect(since: Duration)
        }

        var state = State.alive
        var lastHeard: Duration
        var hasBeenHeard = false
    }

    private let timings: ClusterTimings
    private var peers: [NodeIdentity: Peer] = [:]
    private var isBusConnected = false
    private var busConnectedAt = Duration.zero
    private var lastTick: Duration?

    public init(timings: ClusterTimings) {
        self.timings = timings
    }

    // MARK: Events

    /// Watches exactly `nodes` from now on; those already watched stay as they are.
    public mutating func watch(_ nodes: some Sequence<NodeIdentity>, at now: Duration) {
        var watched: [NodeIdentity: Peer] = [:]
        for node in nodes { watched[node] = peers[node] ?? Peer(lastHeard: now) }
        peers = watched
    }

    /// A heartbeat. False where the node is not watched.
    @discardableResult
    public mutating func heard(from node: NodeIdentity, at now: Duration) -> Bool {
        guard peers[node] != nil else { return false }
        peers[node]!.state = .alive
        peers[node]!.lastHeard = now
        peers[node]!.hasBeenHeard = true
        return true
    }

    public mutating func probeEnded(_ node: NodeIdentity, answered: Bool, at now: Duration) {
        guard let peer = peers[node] else { return }
        switch peer.state {
        case .alive, .suspect: if answered { heard(from: node, at: now) }
        case .probing:
            if answered { heard(from: node, at: now) } else { peers[node]!.state = .suspect(since: now) }
        }
    }

    /// The bus went away or came back.
    public mutating func bus(isConnected: Bool, at now: Duration) {
        if isConnected && !isBusConnected {
            busConnectedAt = now
            forgive(at: now)
        }
        isBusConnected = isConnected
    }

    /// Call every ``ClusterTimings/tick``. Answers the nodes to probe now.
    public mutating func tick(at now: Duration) -> [NodeIdentity] {
        defer { lastTick = now }
        if let lastTick, now - lastTick > timings.pauseThreshold {
            // We were stopped, and heard nobody: that says nothing of them.
            forgive(at: now)
            return []
        }
        guard isBusConnected else { return [] }
        var probes: [NodeIdentity] = []
        for (node, peer) in peers {
            switch peer.state {
            case .alive where now - peer.lastHeard > timings.silence:
                peers[node]!.state = .probing(since: now)
                probes.append(node)
            case .probing(let since) where now - since > timings.probeTimeout * 2:
                // The probe's end got lost; it must not keep the node well for ever.
                peers[node]!.state = .suspect(since: now)
            case .alive, .probing, .suspect: break
            }
        }
        return probes.sorted { $0.name < $1.name }
    }

    private mutating func forgive(at now: Duration) {
        for node in peers.keys {
            peers[node]!.state = .alive
            peers[node]!.lastHeard = now
        }
    }

    // MARK: Judgement

    /// Nil for a node that is not watched.
    public func health(of node: NodeIdentity) -> Health? {
        switch peers[node]?.state {
        case .alive: .alive
        case .probing: .probing
        case .suspect: .suspect
        case nil: nil
        }
    }

    /// Whether the node has been heard since it is watched: it is there, and subscribed.
    public func hasHeard(_ node: NodeIdentity) -> Bool { peers[node]?.hasBeenHeard ?? false }

    /// All that look suspect, whether or not the judgement is to be trusted.
    public var suspects: Set<NodeIdentity> {
        Set(
            peers.compactMap { node, peer in
                if case .suspect = peer.state { node } else { nil }
            })
    }

    public var isAnyoneDoubtful: Bool {
        peers.values.contains { peer in
            if case .alive = peer.state { false } else { true }
        }
    }

    /// The suspects to be believed in: none while only the leases can be.
    public func trustedSuspects(at now: Duration) -> Set<NodeIdentity> {
        guard isBusConnected, now - busConnectedAt >= timings.busSettling else { return [] }
        let suspects = suspects
        return suspects.count * 2 > peers.count ? [] : suspects
    }
}
