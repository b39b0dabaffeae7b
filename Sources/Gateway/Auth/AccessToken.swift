import RoostModel

/// Who makes a request: what an access token says.
public struct Caller: Hashable, Sendable {
    public let userID: UserID
    public let deviceID: DeviceID
    public let isGuest: Bool
    public let issuedAt: Timestamp
    public let expiresAt: Timestamp

    public init(userID: UserID, deviceID: DeviceID, isGuest: Bool, issuedAt: Timestamp, expiresAt: Timestamp) {
        self.userID = userID
        self.deviceID = deviceID
        self.isGuest = isGuest
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }
}

/// The wire form of an access token: base64url of 58 bytes and a MAC of 32, big endian.
///
/// ```
/// version 1 · user 16 · device 16 · flags 1 · issuedAt 8 · expiresAt 8 · random 8 · BLAKE2b-256 keyed 32
/// ```
/// The random part tells apart two tokens of the same millisecond. Clients must treat all of it as opaque.
struct AccessTokenCodec: Sendable {
    static let version: UInt8 = 1
    static let payloadBytes = 58
    private static let guestFlag: UInt8 = 1

    private let key: [UInt8]

    /// - Parameter key: 32 bytes, the same on every node.
    init(key: [UInt8]) {
        precondition(key.count == Sodium.keyBytes)
        self.key = key
    }

    func encode(_ caller: Caller) -> String {
        var payload: [UInt8] = [Self.version]
        payload.reserveCapacity(Self.payloadBytes + Sodium.hashBytes)
        for word in [caller.userID.high, caller.userID.low, caller.deviceID.high, caller.deviceID.low] {
            payload.append(bigEndian: word)
        }
        payload.append(caller.isGuest ? Self.guestFlag : 0)
        payload.append(bigEndian: UInt64(bitPattern: caller.issuedAt.milliseconds))
        payload.append(bigEndian: UInt64(bitPattern: caller.expiresAt.milliseconds))
        payload += Sodium.randomBytes(8)
        return Sodium.base64URL(payload + Sodium.hash(payload, key: key))
    }

    /// Nil where the token was not made with this key. Says nothing of time or revocation.
    func decode(_ token: String) -> Caller? {
        guard let bytes = Sodium.bytes(fromBase64URL: token, count: Self.payloadBytes + Sodium.hashBytes) else { return nil }
        let payload = bytes[..<Self.payloadBytes]
        guard Sodium.areEqual(Sodium.hash(payload, key: key), Array(bytes[Self.payloadBytes...])), payload[0] == Self.version
        else { return nil }
        return Caller(
            userID: UserID(high: payload.word(at: 1), low: payload.word(at: 9)),
            deviceID: DeviceID(high: payload.word(at: 17), low: payload.word(at: 25)),
            isGuest: payload[33] & Self.guestFlag != 0,
            issuedAt: Timestamp(milliseconds: Int64(bitPattern: payload.word(at: 34))),
            expiresAt: Timestamp(milliseconds: Int64(bitPattern: payload.word(at: 42))))
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian word: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func word(at offset: Int) -> UInt64 {
        self[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
