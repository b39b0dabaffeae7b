import ClusterCore
import RoostModel
import Runtime

/// The cluster's part of `/metrics`.
struct ClusterMetrics: Sendable {
    let viewVersion: Gauge
    let liveNodes: Gauge
    let suspects: Gauge
    let isLeader: Gauge
    let isServing: Gauge
    let ownedShards: Gauge
    let joins: Counter
    let fenced: Counter
    let failoverShards: Counter
    let releasedShards: Counter
    let storeErrors: Counter
    let malformed: Counter
    let dropped: Counter
    private let closures: [LeaderDuties.DeathReason: Counter]

    init(_ metrics: Metrics, leaseAge: @escaping @Sendable () -> Double) {
        metrics.gauge(
            "roost_cluster_lease_age_seconds", help: "Since the start of the last successful renewal of this node's lease.",
            read: leaseAge)
        viewVersion = metrics.gauge("roost_cluster_view_version", help: "The version of the view that this node knows.")
        liveNodes = metrics.gauge("roost_cluster_live_nodes", help: "Nodes that are up in this node's view, itself included.")
        suspects = metrics.gauge("roost_cluster_suspects", help: "Other nodes that look dead from here.")
        isLeader = metrics.gauge("roost_cluster_is_leader", help: "1 while this node leads.")
        isServing = metrics.gauge("roost_cluster_is_serving", help: "1 while the lease lets this node serve.")
        ownedShards = metrics.gauge("roost_cluster_owned_shards", help: "Shards that this node owns.")
        joins = metrics.counter("roost_cluster_joins_total", help: "Incarnations that this process has registered.")
        fenced = metrics.counter("roost_cluster_fenced_total", help: "Times that this node found itself declared dead.")
        failoverShards = metrics.counter(
            "roost_cluster_failovers_total", help: "Shards that this node took over from an owner that may have died.")
        releasedShards = metrics.counter("roost_cluster_released_shards_total", help: "Shards that this node handed over.")
        storeErrors = metrics.counter("roost_cluster_store_errors_total", help: "Errands to the cluster's store that failed.")
        malformed = metrics.counter("roost_cluster_malformed_total", help: "Messages of the cluster that could not be read.")
        dropped = metrics.counter("roost_cluster_dropped_total", help: "Messages of the cluster dropped because too many waited.")
        var closures: [LeaderDuties.DeathReason: Counter] = [:]
        for reason in LeaderDuties.DeathReason.allCases {
            closures[reason] = metrics.counter(
                "roost_cluster_fence_closures_total", help: "Nodes that this one, as the leader, declared dead.",
                labels: ["reason": reason.rawValue])
        }
        self.closures = closures
    }

    func fenceClosed(_ reason: LeaderDuties.DeathReason) { closures[reason]?.increment() }
}
