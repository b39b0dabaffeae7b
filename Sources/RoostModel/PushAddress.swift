/// Whose service brings pushes to a device.
public enum PushProvider: String, Sendable, CaseIterable { case apns, fcm, webpush }

/// Where pushes for one device go. Holds secrets: never logged.
public struct PushAddress: Hashable, Sendable {
    public var provider: PushProvider
    /// APNs: the device token in hexadecimal. FCM: the registration token. Web Push: the subscription's endpoint, an https URL.
    public var token: String
    /// APNs only: the app's bundle id.
    public var topic: String?
    /// APNs only: whether the token is of the development environment.
    public var isSandbox: Bool
    /// Web Push only (RFC 8291): the subscription's keys `p256dh` (65 bytes) and `auth` (16 bytes), as base64url.
    public var keys: Keys?

    public struct Keys: Hashable, Sendable {
        public var p256dh: String
        public var auth: String

        public init(p256dh: String, auth: String) {
            self.p256dh = p256dh
            self.auth = auth
        }
    }

    public init(provider: PushProvider, token: String, topic: String? = nil, isSandbox: Bool = false, keys: Keys? = nil) {
        self.provider = provider
        self.token = token
        self.topic = topic
        self.isSandbox = isSandbox
        self.keys = keys
    }
}
