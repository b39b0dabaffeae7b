import Dispatch
import Runtime
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct WorkerThreadsTests {
    private struct Broken: Error {}

    @Test func workRunsOffThePoolAndGivesItsResult() async throws {
        let workers = WorkerThreads(name: "test", threads: 2, queueLimit: 100)
        try await workers.start()
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { try await workers.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 4_950)
        await #expect(throws: Broken.self) { try await workers.run { throw Broken() } }
        await workers.stop()
    }

    @Test func aFullQueueRefusesAtOnce() async throws {
        let workers = WorkerThreads(name: "test", threads: 1, queueLimit: 1)
        try await workers.start()
        let gate = DispatchSemaphore(value: 0)
        async let first: Void = workers.run { gate.wait() }
        async let second: Void = workers.run { gate.wait() }
        try await eventually("one runs, one waits") { workers.load == 2 }
        await #expect(throws: WorkerThreadsError.queueFull) { try await workers.run {} }
        let metrics = Metrics()
        workers.register(in: metrics)
        #expect(metrics.render().contains("roost_workers_load{pool=\"test\"} 2\n"))
        #expect(metrics.render().contains("roost_workers_refused_total{pool=\"test\"} 1\n"))
        gate.signal()
        gate.signal()
        _ = try await (first, second)
        try await workers.run {}
        await workers.stop()
    }

    @Test func stopFinishesWhatWaitsAndRefusesTheRest() async throws {
        let workers = WorkerThreads(name: "test", threads: 1, queueLimit: 10)
        await #expect(throws: WorkerThreadsError.stopped) { try await workers.run {} }
        try await workers.start()
        let done = Locked(0)
        let gate = DispatchSemaphore(value: 0)
        let tasks = (0..<5).map { _ in
            Task {
                try await workers.run {
                    gate.wait()
                    done.withLock { $0 += 1 }
                }
            }
        }
        try await eventually("all are submitted") { workers.load == 5 }
        for _ in 0..<5 { gate.signal() }
        await workers.stop()
        #expect(done.withLock { $0 } == 5)
        for task in tasks { try await task.value }
        await #expect(throws: WorkerThreadsError.stopped) { try await workers.run {} }
    }
}
