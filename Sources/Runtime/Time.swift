import Glibc

/// Milliseconds since 1970-01-01 UTC, from the machine's wall clock; injected, so that tests have their own.
public typealias WallClock = @Sendable () -> Int64

/// The machine's wall clock. It may jump: use a `Clock` to measure.
public let systemWallClock: WallClock = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

/// Time elapsed on a clock of unknown kind.
struct Stopwatch: Sendable {
    let elapsed: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { self = Self.start(clock) }

    private init(elapsed: @escaping @Sendable () -> Duration) { self.elapsed = elapsed }

    private static func start(_ clock: some Clock<Duration>) -> Stopwatch {
        let start = clock.now
        return Stopwatch(elapsed: { start.duration(to: clock.now) })
    }
}
