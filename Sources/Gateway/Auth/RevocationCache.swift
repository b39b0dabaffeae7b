import RoostModel

/// The devices whose access tokens are refused although they have not expired. Pure: time comes in.
struct RevocationCache {
    /// How far a poll looks back before the one before it: clocks differ, and commits come later than their time.
    static let overlap: Duration = .seconds(60)

    /// How long an entry is of use: no token of the device lives longer.
    private let lifetime: Duration
    private var entries: [DeviceID: Timestamp] = [:]
    private var nextSweep = Timestamp(milliseconds: .min)

    /// - Parameter tokenLifetime: of access tokens.
    init(tokenLifetime: Duration) { lifetime = tokenLifetime + Self.overlap }

    var count: Int { entries.count }

    func contains(_ device: DeviceID) -> Bool { entries[device] != nil }

    /// - Returns: those that are news.
    mutating func insert(_ devices: some Sequence<DeviceID>, at now: Timestamp) -> [DeviceID] {
        sweep(at: now)
        return devices.filter { device in
            guard entries[device] == nil else { return false }
            entries[device] = now + lifetime
            return true
        }
    }

    /// From when on the store has to be asked.
    func pollStart(lastPoll: Timestamp?, now: Timestamp) -> Timestamp {
        let earliest = now + (.zero - lifetime)
        guard let lastPoll else { return earliest }
        return max(earliest, lastPoll + (.zero - Self.overlap))
    }

    /// Walks through all at most once in ten seconds.
    private mutating func sweep(at now: Timestamp) {
        guard now >= nextSweep else { return }
        nextSweep = now + .seconds(10)
        entries = entries.filter { $0.value > now }
    }
}
