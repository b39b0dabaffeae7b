import Glibc

/// An IPv4 or IPv6 address as 128 bits; IPv4 is written as IPv6 writes it (RFC 4291 §2.5.5.2), so that both forms are one.
struct ClientAddress: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// `::`, for what has no address.
    static let none = ClientAddress(high: 0, low: 0)

    private static let mappedPrefix: UInt64 = 0x0000_FFFF_0000_0000

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Numeric forms only, without a port.
    init?(_ text: some StringProtocol) {
        // A zone (RFC 4007 §11) names an interface of this machine: the address before it is what counts.
        let text = String(text.prefix { $0 != "%" })
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(high: 0, low: Self.mappedPrefix | UInt64(UInt32(bigEndian: four.s_addr)))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self = withUnsafeBytes(of: six) { bytes in
            ClientAddress(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    var isIPv4: Bool { high == 0 && low & 0xFFFF_FFFF_0000_0000 == Self.mappedPrefix }

    /// What limits count: an IPv4 address, or the /64 that one customer gets (RFC 6177).
    var counted: ClientAddress { isIPv4 ? self : ClientAddress(high: high, low: 0) }

    /// The first `length` of all 128 bits.
    func prefix(_ length: Int) -> ClientAddress {
        ClientAddress(high: high & Self.mask(length), low: low & Self.mask(length - 64))
    }

    private static func mask(_ length: Int) -> UInt64 {
        length <= 0 ? 0 : length >= 64 ? .max : ~(UInt64.max >> UInt64(length))
    }
}

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
struct AddressBlock: Hashable, Sendable {
    private let base: ClientAddress
    /// Of all 128 bits.
    private let length: Int

    /// Bits behind the prefix must be zero: what else stands there is a slip of the pen.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = ClientAddress(parts[0]), !parts[0].contains("%") else { return nil }
        let bits = parts[0].contains(":") ? 128 : 32
        var length = bits
        if parts.count == 2 {
            guard let given = Int(parts[1]), String(given) == parts[1], (0...bits).contains(given) else { return nil }
            length = given
        }
        length += 128 - bits
        guard address.prefix(length) == address else { return nil }
        base = address
        self.length = length
    }

    func contains(_ address: ClientAddress) -> Bool { address.prefix(length) == base }
}
