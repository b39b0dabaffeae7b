import RoostModel

/// Highest-random-weight hashing (Thaler and Ravishankar, 1998): each node has a weight for each shard, and the heaviest is
/// proposed as owner. A node that comes or goes changes the proposal only for shards that it gains or had.
///
/// Weights depend on names and shard numbers alone: the same in every process, release and incarnation. The share of a node is
/// binomial: of 1,024 shards three nodes are proposed 341 ± 15 each, of 256 shards 85 ± 8 (one standard deviation).
/// ``Placement`` evens that out.
public enum Rendezvous {
    /// A node's part of the weight; compute once for many shards.
    public static func seed(ofNode name: String) -> UInt64 {
        // FNV-1a, then mixed: names of one letter's difference must not have related weights.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return mix(hash)
    }

    public static func weight(of shard: ShardID, nodeSeed: UInt64) -> UInt64 {
        mix(nodeSeed ^ mix(UInt64(shard.tableIndex) &+ 1))
    }

    /// The heaviest of `names`, the first by name among equals; nil where there are none.
    public static func proposal(for shard: ShardID, among names: [String]) -> String? {
        names.max { left, right in
            let (a, b) = (weight(of: shard, nodeSeed: seed(ofNode: left)), weight(of: shard, nodeSeed: seed(ofNode: right)))
            return a == b ? left > right : a < b
        }
    }

    /// SplitMix64's finalizer.
    private static func mix(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
