import EventLoop

/// Calls for actors that are on their way here: their callers have heard sooner than this lane that they have arrived. Kept for the
/// few milliseconds until the lane hears it too, in order. Confined to the lane's loop.
///
/// At most ``limit``; beyond that callers are told to try again, as they are once ``patience`` is over.
struct HeldCalls {
    static let limit = 4096
    static let patience: Duration = .milliseconds(250)

    private var calls: [InboundCall] = []

    var isEmpty: Bool { calls.isEmpty }

    /// Whether there was room.
    mutating func add(_ call: InboundCall) -> Bool {
        guard calls.count < Self.limit else { return false }
        calls.append(call)
        return true
    }

    /// All of them, in the order in which they came.
    mutating func take() -> [InboundCall] {
        defer { calls = [] }
        return calls
    }
}
