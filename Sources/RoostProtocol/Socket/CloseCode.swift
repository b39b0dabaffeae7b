/// The close codes of the socket that are Roost's own, and those of RFC 6455 §7.4.1 that it sends.
public enum CloseCode: UInt16, Sendable, CaseIterable {
    case normal = 1000
    case protocolError = 1002
    case invalidPayload = 1007
    case messageTooBig = 1009
    case internalError = 1011
    /// Binary frames, or too much that is not JSON.
    case wrongUse = 4000
    /// No hello in time, or a bad token.
    case unauthenticated = 4001
    case tokenExpired = 4002
    /// The device was logged out.
    case revoked = 4003
    case profileIncomplete = 4004
    /// The outbox stayed full.
    case tooSlow = 4008
    /// The node is leaving: connect to another.
    case goingAway = 4010

    public var reason: String {
        switch self {
        case .normal: ""
        case .protocolError: "protocol error"
        case .invalidPayload: "invalid UTF-8"
        case .messageTooBig: "message too big"
        case .internalError: "internal error"
        case .wrongUse: "wrong use"
        case .unauthenticated: "not authenticated"
        case .tokenExpired: "token expired"
        case .revoked: "revoked"
        case .profileIncomplete: "profile incomplete"
        case .tooSlow: "too slow"
        case .goingAway: "going away"
        }
    }

    /// What a client does next: whether to connect again with what it has.
    public var allowsReconnect: Bool {
        switch self {
        case .normal, .messageTooBig, .internalError, .tooSlow, .goingAway: true
        case .protocolError, .invalidPayload, .wrongUse, .unauthenticated, .tokenExpired, .revoked, .profileIncomplete: false
        }
    }
}
