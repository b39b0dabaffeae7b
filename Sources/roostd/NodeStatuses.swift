import ClusterMembership
import Gateway
import RoostModel
import Runtime

extension ClusterNode {
    /// The cluster as this node knows it, for operators. What only a node itself can count is given for this one.
    func nodeStatuses(sessionsHere: Int) -> [NodeStatus] {
        guard let view = currentView else { return [] }
        return view.nodes.map { record in
            let isHere = record.identity.incarnation == identity?.incarnation
            return NodeStatus(
                name: record.identity.name, incarnation: record.identity.incarnation, state: record.state.rawValue,
                version: record.version, startedAt: record.startedAt, url: record.url,
                isLeader: record.identity.incarnation == view.leader, sessions: isHere ? sessionsHere : nil,
                residentBytes: isHere ? ProcessMetrics.residentBytes() : nil)
        }
    }
}
