import RoostModel

/// The last few sends, by a hash: whether one may be a repetition, so that it is looked up instead of tried. A miss or a false
/// alarm costs a round to the store, nothing else. 128 bytes when full, nothing when empty.
struct RecentClientIDs {
    static let capacity = 16

    private var hashes: [UInt64] = []
    private var next: UInt8 = 0

    func mayContain(sender: UserID, clientID: String) -> Bool {
        !hashes.isEmpty && hashes.contains(Self.hash(sender, clientID))
    }

    mutating func insert(sender: UserID, clientID: String) {
        let hash = Self.hash(sender, clientID)
        if hashes.count < Self.capacity {
            hashes.append(hash)
        } else {
            hashes[Int(next)] = hash
            next = (next + 1) % UInt8(Self.capacity)
        }
    }

    /// FNV-1a over the client id, mixed with the sender.
    private static func hash(_ sender: UserID, _ clientID: String) -> UInt64 {
        var hash = sender.stableHash ^ 0xCBF2_9CE4_8422_2325
        for byte in clientID.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
