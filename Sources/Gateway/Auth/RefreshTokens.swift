/// Refresh tokens: secrets of which the store keeps only the hashes.
///
/// The successor of a token is a keyed hash of it, so that a client whose answer was lost can be given the very same successor
/// again without anyone having stored it, and nobody without the cluster's secret can compute it.
struct RefreshTokens: Sendable {
    private let key: [UInt8]

    /// - Parameter key: 32 bytes, the same on every node.
    init(key: [UInt8]) {
        precondition(key.count == Sodium.keyBytes)
        self.key = key
    }

    /// The first token of a device.
    func make() -> SecretToken { .random() }

    func successor(of spent: SecretToken) -> SecretToken { SecretToken(bytes: Sodium.hash(spent.bytes, key: key)) }
}
