/// A long-lived part of a process.
///
/// ``start()`` returns once the part is of use to those after it; its loops and threads go on by themselves until ``stop()``.
public protocol Service: Sendable {
    /// For logs: short, lower case, constant.
    var name: String { get }

    /// Cleans up after itself where it throws. Obeys cancellation: a stop during the start cancels it.
    func start() async throws

    /// Finishes what was begun and releases everything. Called once, only after a start that succeeded.
    /// Cancelled when its time is up; what is left then is abandoned.
    func stop() async
}

/// A service from two closures.
public struct ClosureService: Service {
    public let name: String
    private let onStart: @Sendable () async throws -> Void
    private let onStop: @Sendable () async -> Void

    public init(
        _ name: String, start: @escaping @Sendable () async throws -> Void = {}, stop: @escaping @Sendable () async -> Void = {}
    ) {
        self.name = name
        onStart = start
        onStop = stop
    }

    public func start() async throws { try await onStart() }
    public func stop() async { await onStop() }
}

/// Why a group of services did not run to a clean end.
public struct ServiceError: Error, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// ``Service/start()`` threw.
        case startFailed
        /// ``Service/start()`` took longer than allowed.
        case startTimedOut
        /// The service reported through ``ServiceGroup/fail(_:_:)`` that it cannot go on.
        case failed
    }

    public let code: Code
    public let service: String
    public let underlying: (any Error)?

    public var description: String {
        let reason = underlying.map { ": \($0)" } ?? ""
        return "service \(service) \(code.rawValue)\(reason)"
    }
}
