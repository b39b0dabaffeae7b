import Foundation

/// Envelopes as JSON behind one version byte.
enum EnvelopeCoding {
    static let version: UInt8 = 1

    static func encode(_ envelope: ActorEnvelope) throws -> [UInt8] {
        [version] + Array(try JSONEncoder().encode(envelope))
    }

    static func decode(_ bytes: [UInt8]) throws -> ActorEnvelope {
        guard bytes.first == version else { throw ActorSystemError.unsupportedTarget }
        return try JSONDecoder().decode(ActorEnvelope.self, from: Data(bytes.dropFirst()))
    }
}
