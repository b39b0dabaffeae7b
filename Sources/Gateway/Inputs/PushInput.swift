import RoostModel
import RoostProtocol

/// `{provider, token, topic?, environment?, keys?: {p256dh, auth}}`
///
/// `topic` and `environment` (`production`, `sandbox`) are APNs' own, `keys` Web Push's, which cannot do without.
struct PushInput {
    /// Of a token or topic; the store's index takes no longer ones.
    private static let maximumBytes = 2_048
    /// An uncompressed point of P-256, and a secret (RFC 8291 §3.2).
    private static let (pointBytes, secretBytes) = (65, 16)

    let address: PushAddress

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let provider = try faults.collect { () throws(RoostError) in
            guard let provider = PushProvider(rawValue: try body.requiredString("provider")) else {
                throw .invalid("provider", .invalid)
            }
            return provider
        }
        let token = try faults.collect { () throws(RoostError) in try Self.opaque(body.requiredString("token"), "token") }
        try faults.check()
        guard let provider, let token else { throw RoostError(.internalError) }
        var address = PushAddress(provider: provider, token: token)
        switch provider {
        case .apns:
            if let topic = try body.string("topic") { address.topic = try Self.opaque(topic, "topic") }
            switch try body.string("environment") {
            case nil, "production": break
            case "sandbox": address.isSandbox = true
            default: throw .invalid("environment", .invalid)
            }
        case .fcm: break
        case .webpush:
            guard token.hasPrefix("https://") else { throw .invalid("token", .invalid) }
            guard let keys = try body.object("keys") else { throw .invalid("keys", .required) }
            address.keys = .init(
                p256dh: try Self.key(keys, "p256dh", Self.pointBytes), auth: try Self.key(keys, "auth", Self.secretBytes))
        }
        self.address = address
    }

    /// Visible ASCII, as all providers' tokens are.
    private static func opaque(_ text: String, _ field: String) throws(RoostError) -> String {
        if text.isEmpty { throw .invalid(field, .required) }
        guard text.utf8.count <= maximumBytes else { throw .invalid(field, .tooLong) }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .invalid(field, .invalid) }
        return text
    }

    private static func key(_ keys: JSONBody, _ name: String, _ count: Int) throws(RoostError) -> String {
        var text = try keys.requiredString(name)
        // Some browsers' libraries pad.
        while text.hasSuffix("=") { text.removeLast() }
        guard Sodium.bytes(fromBase64URL: text, count: count) != nil else { throw .invalid("keys.\(name)", .invalid) }
        return text
    }
}
