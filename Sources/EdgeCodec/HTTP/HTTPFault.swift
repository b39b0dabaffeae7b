/// Why a request cannot be served, found below the application. `code` is the stable word of the problem document.
public struct HTTPFault: Error, Equatable, Sendable {
    public let status: Int
    public let code: String

    public init(status: Int, code: String) {
        self.status = status
        self.code = code
    }

    public static let malformed = HTTPFault(status: 400, code: "malformed")
    public static let timeout = HTTPFault(status: 408, code: "requestTimeout")
    public static let bodyTooLarge = HTTPFault(status: 413, code: "tooLarge")
    public static let targetTooLong = HTTPFault(status: 414, code: "targetTooLong")
    public static let expectationFailed = HTTPFault(status: 417, code: "expectationFailed")
    public static let upgradeRequired = HTTPFault(status: 426, code: "upgradeRequired")
    public static let headersTooLarge = HTTPFault(status: 431, code: "headersTooLarge")
    public static let internalError = HTTPFault(status: 500, code: "internal")
    public static let notImplemented = HTTPFault(status: 501, code: "notImplemented")
    public static let unavailable = HTTPFault(status: 503, code: "unavailable")
    public static let versionNotSupported = HTTPFault(status: 505, code: "versionNotSupported")
}

/// Bounds on what is read before the application sees a request. Sizes in bytes, inclusive.
public struct HTTPLimits: Sendable {
    /// The request target; longer is 414.
    public var targetBytes = 8 * 1024
    /// All header lines together; more is 431. Trailers have the same bound.
    public var headerBytes = 16 * 1024
    /// Number of header lines; more is 431.
    public var headerCount = 100
    /// Chunk extensions of one body together; more is 400.
    public var chunkExtensionBytes = 4 * 1024

    public init() {}
}

/// How the end of a body is found (RFC 9112 §6.3).
public enum HTTPBodyFraming: Equatable, Sendable {
    case none
    case length(Int)
    case chunked
    /// Responses only: all until the connection ends.
    case untilClose
}
