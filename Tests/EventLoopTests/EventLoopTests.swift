import Synchronization
import Testing

@testable import EventLoop

@Suite struct EventLoopTests {
    private func withLoop<Result: Sendable>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
        let loop = try EventLoop(name: "test")
        loop.start()
        let result = try await body(loop)
        await loop.stop()
        return result
    }

    @Test func workOfOneThreadRunsInOrder() async throws {
        let order = Mutex<[Int]>([])
        try await withLoop { loop in
            for index in 0..<10_000 { loop.execute { order.withLock { $0.append(index) } } }
        }
        #expect(order.withLock { $0 } == Array(0..<10_000))
    }

    @Test func timersFireByDeadlineAndCancelledOnesDoNot() async throws {
        let fired = try await withLoop { loop in
            await withCheckedContinuation { (continuation: CheckedContinuation<[String], Never>) in
                loop.execute {
                    let log = Mutex<[String]>([])
                    loop.schedule(after: .milliseconds(20)) {
                        log.withLock { $0.append("late") }
                        continuation.resume(returning: log.withLock { $0 })
                    }
                    loop.schedule(after: .milliseconds(5)) { log.withLock { $0.append("early") } }
                    loop.schedule(after: .milliseconds(10)) { log.withLock { $0.append("cancelled") } }.cancel()
                }
            }
        }
        #expect(fired == ["early", "late"])
    }

    @Test func endOfTurnWorkRunsAfterTheTurnsOtherWork() async throws {
        let order = Mutex<[String]>([])
        try await withLoop { loop in
            loop.execute {
                loop.atEndOfTurn { order.withLock { $0.append("end") } }
                loop.execute { order.withLock { $0.append("next turn") } }
                order.withLock { $0.append("turn") }
            }
        }
        #expect(order.withLock { $0 } == ["turn", "end", "next turn"])
    }

    private actor Pinned {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        init(loop: EventLoop) { self.loop = loop }
        var count = 0
        func increment() -> Bool {
            count += 1
            return loop.isCurrent
        }
    }

    @Test func anActorRunsOnItsLoopAndIsEnteredWithoutAHop() async throws {
        try await withLoop { loop in
            let actor = Pinned(loop: loop)
            #expect(await actor.increment())
            let entered = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
                loop.execute { continuation.resume(returning: actor.assumeIsolated { $0.count }) }
            }
            #expect(entered == 1)
        }
    }
}
