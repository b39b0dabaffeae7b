import Ports
import RoostModel

/// A random secret of 32 bytes that its bearer shows as base64url and the store knows by its hash.
struct SecretToken: Equatable, Sendable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// - Parameter bytes: ``byteCount`` of them.
    init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    static func random() -> SecretToken { SecretToken(bytes: Sodium.randomBytes(byteCount)) }

    /// Nil where it cannot be one.
    init?(_ text: String) {
        guard let bytes = Sodium.bytes(fromBase64URL: text, count: Self.byteCount) else { return nil }
        self.bytes = bytes
    }

    var text: String { Sodium.base64URL(bytes) }
    var hash: TokenHash { TokenHash(Sodium.hash(bytes)) }
}

extension MailToken {
    /// How long the link that resets a password works.
    static let resetLifetime: Duration = .seconds(3_600)
    /// How long the link that verifies an email works.
    static let verificationLifetime: Duration = .seconds(7 * 86_400)

    static func reset(at time: Timestamp) -> MailToken { random(until: time + resetLifetime) }

    static func verification(at time: Timestamp) -> MailToken { random(until: time + verificationLifetime) }

    private static func random(until expiry: Timestamp) -> MailToken {
        let token = SecretToken.random()
        return MailToken(text: token.text, hash: token.hash, expiresAt: expiry)
    }
}
