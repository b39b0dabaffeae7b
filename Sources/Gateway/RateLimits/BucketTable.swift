import EventLoop

/// Token buckets of one rate by key, at most so many: a new one takes the place of the one that was idle longest. Pure: time comes in.
///
/// The buckets stand in one array, linked in the order of their last use.
struct BucketTable: Sendable {
    struct Key: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    enum Verdict: Equatable, Sendable {
        case allowed
        case refused(retryAfterSeconds: Int)
    }

    private struct Entry {
        var key: Key
        var bucket: TokenBucket
        /// Used after this one, and before it; -1 where there is none.
        var newer: Int32
        var older: Int32
    }

    let rate: TokenBucket.Rate
    let capacity: Int
    /// Entries that made room for others.
    private(set) var dropped = 0
    private var entries: [Entry] = []
    private var places: [Key: Int32] = [:]
    private var newest: Int32 = -1
    private var oldest: Int32 = -1

    /// - Parameter capacity: from 1 to 2³¹ − 1.
    init(_ rate: TokenBucket.Rate, capacity: Int) {
        self.rate = rate
        self.capacity = capacity
    }

    var count: Int { entries.count }

    mutating func take(_ key: Key, at now: MonotonicTime) -> Verdict {
        let place = place(of: key, at: now)
        if entries[place].bucket.take(rate, at: now) { return .allowed }
        return .refused(retryAfterSeconds: entries[place].bucket.secondsUntilNext(rate))
    }

    private mutating func place(of key: Key, at now: MonotonicTime) -> Int {
        if let place = places[key] {
            if place != newest {
                unlink(place)
                link(place)
            }
            return Int(place)
        }
        let entry = Entry(key: key, bucket: TokenBucket(rate, at: now), newer: -1, older: -1)
        let place: Int32
        if entries.count < capacity {
            place = Int32(entries.count)
            entries.append(entry)
        } else {
            place = oldest
            unlink(place)
            places[entries[Int(place)].key] = nil
            entries[Int(place)] = entry
            dropped += 1
        }
        places[key] = place
        link(place)
        return Int(place)
    }

    /// As the newest.
    private mutating func link(_ place: Int32) {
        entries[Int(place)].newer = -1
        entries[Int(place)].older = newest
        if newest >= 0 { entries[Int(newest)].newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int32) {
        let (newer, older) = (entries[Int(place)].newer, entries[Int(place)].older)
        if newer >= 0 { entries[Int(newer)].older = older } else { newest = older }
        if older >= 0 { entries[Int(older)].newer = newer } else { oldest = newer }
    }
}
