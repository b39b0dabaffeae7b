import Runtime

/// What the gateway can be told. ``settings`` declares it for the configuration of a process.
public struct GatewaySettings: Sendable {
    public static let allowedOriginsSetting = Setting<[String]>.list(
        "ROOST_ALLOWED_ORIGINS", default: [], allowed: "origins such as https://app.example, separated by commas, or *",
        help: "web pages of other hosts that may call the API and open sockets",
        accepts: { $0 == "*" || isOrigin($0) })
    public static let echoSetting = Setting<Bool>.bool(
        "ROOST_ECHO_ENDPOINT", default: false, help: "offer a WebSocket echo at /echo, for conformance runs only")
    public static let accessTokenSetting = Setting<Duration>.seconds(
        "ROOST_ACCESS_TOKEN_SECONDS", default: 900, in: 1...86_400, help: "how long an access token lives")

    public static let requireProfileSetting = Setting<Bool>.bool(
        "ROOST_REQUIRE_PROFILE", default: false, help: "refuse almost everything until a user's profile is complete")

    public static let settings: [any DeclaredSetting] =
        [allowedOriginsSetting, echoSetting, accessTokenSetting, requireProfileSetting] + RateLimitSettings.settings

    /// As browsers send them in `Origin`; `*` for all.
    public var allowedOrigins: [String] = []
    public var offersEcho = false
    /// Of the server, as `/openapi.json` tells it.
    public var version = "0"
    /// How long the answer to a forgotten password takes, at least: longer than the work for an account that exists.
    public var forgotPace: Duration = .milliseconds(250)

    public init() {}

    public init(_ configuration: Configuration) {
        allowedOrigins = configuration[Self.allowedOriginsSetting]
        offersEcho = configuration[Self.echoSetting]
    }

    /// `scheme://host[:port]`, without a path (RFC 6454 §6.2).
    private static func isOrigin(_ text: String) -> Bool {
        guard let mark = text.firstRange(of: "://"), mark.lowerBound > text.startIndex else { return false }
        let authority = text[mark.upperBound...]
        let forbidden: Set<Character> = ["/", "?", "#", "@", " "]
        return !authority.isEmpty && !authority.contains(where: forbidden.contains)
    }
}
