/// A value of a conversation's one counter. The first change has 1; 0 stands before all.
public struct Sequence64: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    public let value: Int64

    @inlinable
    public init(_ value: Int64) { self.value = value }

    public static let zero = Seq(0)

    @inlinable
    public var next: Seq { Seq(value + 1) }

    @inlinable
    public static func < (left: Seq, right: Seq) -> Bool { left.value < right.value }

    public var description: String { String(value) }

    public init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int64.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

public typealias Seq = Sequence64

/// The fencing token of a shard: rises by one with each change of owner.
public struct Epoch: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let value: Int64

    @inlinable
    public init(_ value: Int64) { self.value = value }

    @inlinable
    public var next: Epoch { Epoch(value + 1) }

    @inlinable
    public static func < (left: Epoch, right: Epoch) -> Bool { left.value < right.value }

    public var description: String { String(value) }
}
