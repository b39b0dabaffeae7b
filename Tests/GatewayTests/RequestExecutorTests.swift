import RoostModel
import Runtime
import TestSupport
import Testing

@testable import Gateway

@Suite struct RequestExecutorTests {
    /// Open once, for all who wait.
    private final class Latch: Sendable {
        private let state = Locked((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

        func open() {
            let waiting = state.withLock { state in
                state.isOpen = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    private func run(_ executor: RequestExecutor, _ work: @escaping @Sendable () async -> Int) async -> Result<Int, RoostError> {
        await withCheckedContinuation { continuation in executor.run(work) { continuation.resume(returning: $0) } }
    }

    @Test func moreThanTheLimitIsRefusedAtOnce() async throws {
        let executor = RequestExecutor(limit: 2, metrics: Metrics())
        try await executor.start()
        let (latch, firstRuns, secondRuns) = (Latch(), Latch(), Latch())
        async let first = run(executor) {
            firstRuns.open(); await latch.wait(); return 1
        }
        async let second = run(executor) {
            secondRuns.open(); await latch.wait(); return 2
        }
        await firstRuns.wait()
        await secondRuns.wait()
        #expect(await run(executor) { 3 } == .failure(.unavailable))
        latch.open()
        #expect(await [first, second] == [.success(1), .success(2)])
        await executor.stop()
    }

    @Test func whatTakesTooLongIsAnsweredAndKeepsItsPlace() async throws {
        let clock = ManualClock()
        let executor = RequestExecutor(limit: 1, timeLimit: .seconds(10), clock: clock, metrics: Metrics())
        try await executor.start()
        let latch = Latch()
        async let slow = run(executor) {
            await latch.wait(); return 1
        }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        #expect(await slow == .failure(.unavailable))
        #expect(await run(executor) { 2 } == .failure(.unavailable))
        latch.open()
        await executor.stop()
    }

    @Test func afterTheStopNothingRuns() async throws {
        let executor = RequestExecutor(metrics: Metrics())
        try await executor.start()
        #expect(await run(executor) { 1 } == .success(1))
        await executor.stop()
        #expect(await run(executor) { 2 } == .failure(.unavailable))
    }
}
