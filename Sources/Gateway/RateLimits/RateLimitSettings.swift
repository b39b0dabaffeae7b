import Runtime

/// How much one client may ask of one node. Every limit is a token bucket: so many requests at once, so many a second from then on.
public struct RateLimitSettings: Sendable {
    public static let switchSetting = Setting<Bool>.bool(
        "ROOST_RATE_LIMITS", default: true, help: "limit how much one client may ask; off lifts every limit below")
    static let addressSetting = limit("ROOST_LIMIT_ADDRESS", "500:5000", "requests from one client address, IPv6 by /64")
    static let accountSetting = limit("ROOST_LIMIT_ACCOUNT", "100:1000", "requests of one account")
    static let deviceSetting = limit("ROOST_LIMIT_DEVICE", "50:500", "requests of one device")
    static let socketsSetting = limit("ROOST_LIMIT_SOCKETS", "50:1000", "sockets opened from one client address")
    static let framesSetting = limit("ROOST_LIMIT_FRAMES", "100:400", "frames of one socket")
    static let accountFramesSetting = limit("ROOST_LIMIT_ACCOUNT_FRAMES", "200:1000", "frames of all sockets of one account")
    static let signInSetting = limit(
        "ROOST_LIMIT_SIGN_IN", "5:300", "attempts to register, sign in, refresh, reset or verify from one client address")
    static let emailSetting = limit(
        "ROOST_LIMIT_EMAIL", "0.1:20",
        "attempts to register, sign in or reset the password with one email, or to prove who one is by one account")
    static let lookupSetting = limit("ROOST_LIMIT_LOOKUP", "1:60", "lookups of users by email by one account")
    static let entriesSetting = Setting<Int>.int(
        "ROOST_LIMIT_ENTRIES", default: 100_000, in: 64...10_000_000,
        help: "clients that are counted at once for each limit; the idlest make room")
    static let socketsOfUserSetting = Setting<Int>.int(
        "ROOST_SOCKETS_PER_USER", default: 100, in: 1...100_000,
        help: "sockets of one user on this node; one more closes the oldest")
    static let trustedProxiesSetting = Setting<[String]>.list(
        "ROOST_TRUSTED_PROXIES", default: [], allowed: "addresses and blocks such as 10.0.0.0/8 or fd00::/8, separated by commas",
        help: "proxies whose X-Forwarded-For is believed", accepts: { AddressBlock($0) != nil })

    public static let settings: [any DeclaredSetting] = [
        switchSetting, addressSetting, accountSetting, deviceSetting, socketsSetting, framesSetting, accountFramesSetting,
        signInSetting, emailSetting,
        lookupSetting, entriesSetting, socketsOfUserSetting, trustedProxiesSetting,
    ]

    /// By kind; what is not here is not limited.
    var rates: [RateLimiter.Kind: TokenBucket.Rate]
    /// Frames of one socket; nil without a limit.
    var frames: TokenBucket.Rate?
    /// Nil without a limit.
    public var socketsOfUser: Int?
    /// For each kind.
    var entries = 100_000
    var proxies = TrustedProxies()

    /// Without any limit.
    public init() { rates = [:] }

    public init(_ configuration: Configuration) {
        self.init()
        proxies = TrustedProxies(configuration[Self.trustedProxiesSetting].compactMap { AddressBlock($0) })
        entries = configuration[Self.entriesSetting]
        guard configuration[Self.switchSetting] else { return }
        for kind in RateLimiter.Kind.allCases { rates[kind] = configuration[Self.setting(kind)] }
        frames = configuration[Self.framesSetting]
        socketsOfUser = configuration[Self.socketsOfUserSetting]
    }

    private static func setting(_ kind: RateLimiter.Kind) -> Setting<TokenBucket.Rate?> {
        switch kind {
        case .address: addressSetting
        case .account: accountSetting
        case .device: deviceSetting
        case .sockets: socketsSetting
        case .frames: accountFramesSetting
        case .signIn: signInSetting
        case .email: emailSetting
        case .lookup: lookupSetting
        }
    }

    /// `RATE:BURST`: how many a second, with a fraction where wanted, after how many at once; `off` for no limit.
    private static func limit(_ name: String, _ value: String, _ what: String) -> Setting<TokenBucket.Rate?> {
        Setting(
            name, default: value, allowed: "RATE:BURST, such as 0.5:20, or off", help: "\(what): so many a second after a burst"
        ) { text in
            if text == "off" { return .some(nil) }
            return parse(text).map(Optional.some)
        }
    }

    static func parse(_ text: String) -> TokenBucket.Rate? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E }),
            let rate = Double(parts[0]), let burst = Int(parts[1]), (0...1_000_000).contains(rate),
            (1...1_000_000).contains(burst)
        else { return nil }
        return TokenBucket.Rate(perSecond: rate, burst: Double(burst))
    }
}
