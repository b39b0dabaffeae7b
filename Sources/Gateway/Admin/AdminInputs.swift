import RoostModel
import RoostProtocol

/// The body of `POST …/drain`.
struct DrainInput {
    let timeout: Duration?
    let isDryRun: Bool
    private static let longest: Int64 = 86_400

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let seconds = try faults.collect { () throws(RoostError) in
            try body.positive("timeoutSeconds", maximum: Self.longest)
        }
        let isDryRun = try faults.collect { () throws(RoostError) in try body.bool("dryRun") }
        try faults.check()
        timeout = (seconds ?? nil).map { .seconds($0) }
        self.isDryRun = (isDryRun ?? nil) ?? false
    }
}

/// The body of `POST /admin/v1/rebalance`.
struct RebalanceInput {
    let isDryRun: Bool
    let maxConcurrentMoves: Int?
    let maxMoves: Int?
    let planID: PlanID?
    static let concurrentMoves = 4

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let isDryRun = try faults.collect { () throws(RoostError) in try body.bool("dryRun") }
        let concurrent = try faults.collect { () throws(RoostError) in try body.positive("maxConcurrentMoves", maximum: 64) }
        let moves = try faults.collect { () throws(RoostError) in try body.positive("maxMoves", maximum: 100_000) }
        let plan: PlanID?? = try faults.collect { () throws(RoostError) in try body.identifier("planId") }
        try faults.check()
        self.isDryRun = (isDryRun ?? nil) ?? false
        maxConcurrentMoves = (concurrent ?? nil).map { Int($0) }
        maxMoves = (moves ?? nil).map { Int($0) }
        planID = plan ?? nil
    }
}

extension JSONBody {
    /// From 1 to `maximum`; nil where it is not given.
    fileprivate func positive(_ name: String, maximum: Int64) throws(RoostError) -> Int64? {
        guard let value = try integer(name) else { return nil }
        guard (1...maximum).contains(value) else { throw .invalid(name, .invalid) }
        return value
    }
}
