import RoostModel
import TestSupport

@testable import ClusterCore

/// What operators do in a simulated cluster, and waiting for what comes of it.
extension Simulation {
    func newOperation() -> OperationID { OperationID(at: store.time.wall, using: &random) }

    @discardableResult
    func drain(_ name: String, timeout: Duration? = nil) -> OperationID? {
        store.advance(to: now)
        guard
            case .operation(let operation) = store.tables.beginDrain(
                newOperation(), of: name, timeout: timeout, by: "operator", at: store.time)
        else { return nil }
        return operation.id
    }

    func rebalance(_ moves: [PlannedMove]) -> OperationID? {
        store.advance(to: now)
        let plan = RebalancePlan(id: PlanID(high: 1, low: 1), viewVersion: store.version, moves: moves, before: [], after: [])
        guard
            case .operation(let operation) = store.tables.beginRebalance(
                newOperation(), plan, maxConcurrentMoves: timings.maximumHandOffs, reason: nil, by: "operator", at: store.time)
        else { return nil }
        return operation.id
    }

    func pin(_ actor: ActorAddress, to name: String) -> OperationID? {
        store.advance(to: now)
        guard
            case .operation(let operation) = store.tables.pin(
                newOperation(), actor, to: name, by: "operator", at: store.time)
        else { return nil }
        return operation.id
    }

    func operation(_ id: OperationID?) -> OperationRecord? { id.flatMap { store.tables.operation($0) } }

    var unfinished: [OperationRecord] { store.snapshot(at: now).operations }

    /// Runs in small steps until `condition` holds, at most for `limit`; the time it took.
    func run(until condition: () -> Bool, within limit: Duration) async -> Duration? {
        let start = now
        while now - start < limit {
            if condition() { return now - start }
            await run(for: .milliseconds(20))
        }
        return condition() ? now - start : nil
    }
}
