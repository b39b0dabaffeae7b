/// How long the cluster's members wait for what. The defaults stand in docs/architecture.md; tests use others.
public struct ClusterTimings: Hashable, Sendable {
    /// How long a lease of a node or of the leader lasts, by the database's clock.
    public var leaseDuration: Duration = .seconds(6)
    /// From the start of one renewal to the start of the next.
    public var renewalInterval: Duration = .seconds(2)
    /// After a renewal that failed.
    public var retryInterval: Duration = .milliseconds(250)
    /// How long a node serves after the *start* of its last successful renewal.
    public var servingWindow: Duration = .milliseconds(4500)
    public var heartbeatInterval: Duration = .milliseconds(500)
    /// Heartbeats that must be missed in a row before a node is probed.
    public var missedHeartbeats = 4
    public var probeTimeout: Duration = .milliseconds(500)
    /// How long after a reconnect of the bus silence means nothing.
    public var busSettling: Duration = .seconds(3)
    /// How often the view's version is asked for.
    public var viewPollInterval: Duration = .seconds(1)
    /// How often the view is loaded while a lease is about to be found expired, and how long what it says of leases is believed.
    public var urgentPollInterval: Duration = .milliseconds(250)
    /// How long a later candidate lets each earlier one try to lead first.
    public var candidacyStep: Duration = .milliseconds(400)
    /// A fresh leader waits this long before it places anything, and everyone does before moving shards to a node that came.
    public var joinSettling: Duration = .seconds(1)
    /// A node that does not release its moving shards for this long is fenced.
    public var moverPatience: Duration = .seconds(5)
    /// A gap between two ticks that can only mean that this process did not run.
    public var pauseThreshold: Duration = .seconds(1)
    /// How often the machine is asked what to do.
    public var tick: Duration = .milliseconds(100)
    /// Hand-offs at a time, each between another two nodes.
    public var maximumHandOffs = 4
    /// Shards that one hand-off takes along: they are marked, closed and released together.
    public var shardsPerHandOff = 16
    /// Whether the leader evens out uneven loads without being asked; a node that joins is given its share in any case.
    public var balancesLoads = true
    /// After a node came or went, loads mean nothing for this long.
    public var loadSettling: Duration = .seconds(30)
    /// How often the leader looks whether loads have become uneven.
    public var loadCheckInterval: Duration = .seconds(5)
    /// How often a node says what its shards cost. A report older than two of these counts for nothing.
    public var loadInterval: Duration = .seconds(2)

    public init() {}

    /// Silence after which a node is probed.
    public var silence: Duration { heartbeatInterval * missedHeartbeats }

    /// Everything that is wrong with these values; empty where they can work.
    public func faults() -> [String] {
        var faults: [String] = []
        let spans: [(String, Duration)] = [
            ("leaseDuration", leaseDuration), ("renewalInterval", renewalInterval), ("retryInterval", retryInterval),
            ("servingWindow", servingWindow), ("heartbeatInterval", heartbeatInterval), ("probeTimeout", probeTimeout),
            ("busSettling", busSettling), ("viewPollInterval", viewPollInterval), ("urgentPollInterval", urgentPollInterval),
            ("candidacyStep", candidacyStep), ("joinSettling", joinSettling), ("moverPatience", moverPatience),
            ("pauseThreshold", pauseThreshold), ("tick", tick), ("loadSettling", loadSettling),
            ("loadCheckInterval", loadCheckInterval), ("loadInterval", loadInterval),
        ]
        for (name, span) in spans where span <= .zero { faults.append("\(name) must be positive") }
        if missedHeartbeats < 2 { faults.append("missedHeartbeats must be at least 2") }
        if maximumHandOffs < 1 { faults.append("maximumHandOffs must be at least 1") }
        if shardsPerHandOff < 1 { faults.append("shardsPerHandOff must be at least 1") }
        if renewalInterval * 2 > servingWindow { faults.append("servingWindow must be at least twice renewalInterval") }
        if servingWindow >= leaseDuration { faults.append("servingWindow must be shorter than leaseDuration") }
        if tick * 2 > heartbeatInterval { faults.append("tick must be at most half of heartbeatInterval") }
        if pauseThreshold < tick * 4 { faults.append("pauseThreshold must be at least four ticks") }
        if busSettling < silence { faults.append("busSettling must be at least \(missedHeartbeats) heartbeats") }
        return faults
    }
}
