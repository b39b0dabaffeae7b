import RoostModel
import TestSupport
import Testing

/// The `life`-th incarnation of `name`, the same in every run.
func node(_ name: String, life: UInt64 = 1) -> NodeIdentity {
    let hash = name.utf8.reduce(0 as UInt64) { $0 &* 31 &+ UInt64($1) }
    return NodeIdentity(name: name, incarnation: IncarnationID(high: life << 16 | 0x7000, low: 1 << 63 | hash))
}

func record(_ identity: NodeIdentity, _ state: NodeRecord.State = .up, lease: Double = 6) -> NodeRecord {
    NodeRecord(
        identity: identity, state: state, leaseRemaining: lease, url: "", adminURL: "", version: "1",
        startedAt: Timestamp(milliseconds: 0))
}

/// Expects equality of values that mutating calls answer, which `#expect` cannot take as operands.
func same<Value: Equatable>(_ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(value == expected, sourceLocation: sourceLocation)
}
