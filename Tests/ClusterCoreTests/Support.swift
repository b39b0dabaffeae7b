import RoostModel
import Testing

/// SplitMix64: the same run for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

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
