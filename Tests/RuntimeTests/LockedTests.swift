import Dispatch
import Runtime
import Testing

@Suite struct LockedTests {
    @Test func noUpdateIsLostUnderContention() {
        let total = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<50_000 { total.withLock { $0 += 1 } }
        }
        #expect(total.withLock { $0 } == 400_000)
    }

    @Test func copiesShareTheValue() {
        let first = Locked([1])
        let second = first
        second.withLock { $0.append(2) }
        #expect(first.withLock { $0 } == [1, 2])
    }

    @Test func anErrorReleasesTheLock() {
        struct Broken: Error {}
        let lock = Locked(0)
        #expect(throws: Broken.self) { try lock.withLock { _ throws(Broken) in throw Broken() } }
        #expect(lock.withLock { $0 } == 0)
    }

    @Test func theValueDiesWithTheLock() {
        final class Content: Sendable {}
        weak var seen: Content?
        do {
            let lock = Locked<Content?>(nil)
            lock.withLock { $0 = Content() }
            lock.withLock { seen = $0 }
            #expect(seen != nil)
        }
        #expect(seen == nil)
    }
}
