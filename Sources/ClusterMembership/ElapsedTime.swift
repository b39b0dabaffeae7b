/// Time since this was made, on a clock of unknown kind.
struct ElapsedTime: Sendable {
    let now: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { self = Self.start(clock) }

    private init(now: @escaping @Sendable () -> Duration) { self.now = now }

    private static func start(_ clock: some Clock<Duration>) -> ElapsedTime {
        let start = clock.now
        return ElapsedTime(now: { start.duration(to: clock.now) })
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    var inSeconds: Double { self / .seconds(1) }
}
