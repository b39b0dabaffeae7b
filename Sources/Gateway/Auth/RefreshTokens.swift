import Ports

/// Refresh tokens: 32 bytes as base64url. The store keeps only their hashes.
///
/// The successor of a token is a keyed hash of it, so that a client whose answer was lost can be given the very same successor
/// again without anyone having stored it, and nobody without the cluster's secret can compute it.
struct RefreshTokens: Sendable {
    static let bytes = 32

    private let key: [UInt8]

    /// - Parameter key: 32 bytes, the same on every node.
    init(key: [UInt8]) {
        precondition(key.count == Sodium.keyBytes)
        self.key = key
    }

    /// The first token of a device.
    func make() -> RefreshToken { RefreshToken(bytes: Sodium.randomBytes(Self.bytes)) }

    func successor(of spent: RefreshToken) -> RefreshToken { RefreshToken(bytes: Sodium.hash(spent.bytes, key: key)) }
}

struct RefreshToken: Equatable, Sendable {
    fileprivate let bytes: [UInt8]

    fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

    /// Nil where it cannot be one.
    init?(_ text: String) {
        guard let bytes = Sodium.bytes(fromBase64URL: text, count: RefreshTokens.bytes) else { return nil }
        self.bytes = bytes
    }

    var text: String { Sodium.base64URL(bytes) }
    var hash: TokenHash { TokenHash(Sodium.hash(bytes)) }
}
