import CSodium

/// The few primitives of libsodium that accounts need.
enum Sodium {
    static let hashBytes = 32
    static let keyBytes = 32

    private static let isReady = sodium_init() >= 0

    /// Call before any other function here. libsodium picks its implementations once.
    static func prepare() { precondition(isReady, "libsodium cannot be used") }

    static func randomBytes(_ count: Int) -> [UInt8] {
        prepare()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            randombytes_buf(buffer.baseAddress!, count)
            initialized = count
        }
    }

    /// BLAKE2b-256, keyed where a key of 16…64 bytes is given.
    static func hash(_ message: some Collection<UInt8>, key: [UInt8] = []) -> [UInt8] {
        prepare()
        let message = Array(message)
        return [UInt8](unsafeUninitializedCapacity: hashBytes) { buffer, initialized in
            let failed = crypto_generichash(
                buffer.baseAddress!, hashBytes, message, UInt64(message.count), key.isEmpty ? nil : key, key.count)
            precondition(failed == 0, "a key's length is out of range")
            initialized = hashBytes
        }
    }

    /// In time that does not depend on where they differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }

    /// base64url without padding (RFC 4648 §5).
    static func base64URL(_ bytes: [UInt8]) -> String {
        prepare()
        let capacity = sodium_base64_encoded_len(bytes.count, base64URLVariant)
        return String(unsafeUninitializedCapacity: capacity) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                _ = sodium_bin2base64(buffer.baseAddress!, capacity, bytes, bytes.count, base64URLVariant)
            }
            return capacity - 1
        }
    }

    /// Nil where `text` is not the one canonical form of exactly `count` bytes.
    static func bytes(fromBase64URL text: String, count: Int) -> [UInt8]? {
        prepare()
        guard text.utf8.count == sodium_base64_encoded_len(count, base64URLVariant) - 1 else { return nil }
        let characters = text.utf8.map { CChar(bitPattern: $0) }
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let failed = sodium_base642bin(
                buffer.baseAddress!, count, characters, characters.count, nil, &length, nil, base64URLVariant)
            initialized = failed == 0 ? length : 0
        }
        return bytes.count == count ? bytes : nil
    }

    /// `sodium_base64_VARIANT_URLSAFE_NO_PADDING`
    private static let base64URLVariant: Int32 = 7
}
