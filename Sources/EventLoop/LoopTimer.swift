/// A one-shot timer of an event loop. Use it on its loop only.
public final class LoopTimer {
    let deadline: MonotonicTime
    private var work: (() -> Void)?

    init(deadline: MonotonicTime, work: @escaping () -> Void) {
        self.deadline = deadline
        self.work = work
    }

    /// Drops the work; the entry itself leaves the heap when its time comes.
    public func cancel() { work = nil }

    func fire() {
        let work = self.work
        self.work = nil
        work?()
    }
}

/// Timers by deadline: a binary heap.
struct TimerHeap {
    private var entries: [LoopTimer] = []

    var nextDeadline: MonotonicTime? { entries.first?.deadline }

    mutating func push(_ timer: LoopTimer) {
        entries.append(timer)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if entries[parent].deadline <= entries[child].deadline { break }
            entries.swapAt(parent, child)
            child = parent
        }
    }

    mutating func popDue(at now: MonotonicTime) -> LoopTimer? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            siftDown()
        }
        return first
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].deadline < entries[smallest].deadline { smallest = child }
            }
            if smallest == parent { return }
            entries.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
