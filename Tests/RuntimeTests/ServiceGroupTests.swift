import Runtime
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ServiceGroupTests {
    /// Signals that a test sends.
    private final class FakeSignals: SignalSource {
        private let handler = Locked<(@Sendable (Int32) -> Void)?>(nil)
        func listen(_ handler: @escaping @Sendable (Int32) -> Void) { self.handler.withLock { $0 = handler } }
        func ignore() { handler.withLock { $0 = nil } }
        func send(_ number: Int32) { handler.withLock { $0 }?(number) }
        var isHeard: Bool { handler.withLock { $0 != nil } }
    }

    private struct Broken: Error {}

    private let trace = Locked<[String]>([])
    private let signals = FakeSignals()
    private let clock = ManualClock()
    private let exits = Locked<[Int32]>([])

    private func note(_ what: String) { trace.withLock { $0.append(what) } }
    private var noted: [String] { trace.withLock { $0 } }

    private func service(_ name: String, failing: Bool = false) -> ClosureService {
        ClosureService(name) {
            note("+\(name)")
            if failing { throw Broken() }
        } stop: {
            note("-\(name)")
        }
    }

    private func group(_ services: [any Service]) -> ServiceGroup {
        ServiceGroup(
            services, startTimeout: .seconds(60), shutdownTimeout: .seconds(10), clock: clock, signals: signals, logger: .silent,
            endProcess: { status in exits.withLock { $0.append(status) } })
    }

    /// A last service that sends a signal once it runs.
    private func signalling(_ number: Int32 = 15) -> ClosureService { ClosureService("signal") { signals.send(number) } }

    @Test func servicesStartInOrderAndStopInReverse() async throws {
        try await group([service("a"), service("b"), service("c"), signalling()]).run()
        #expect(noted == ["+a", "+b", "+c", "-c", "-b", "-a"])
        #expect(exits.withLock { $0 } == [])
        #expect(!signals.isHeard)
    }

    @Test func aFailingStartStopsWhatWasStarted() async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await group([service("a"), service("b"), service("c", failing: true), service("d")]).run()
        }
        #expect(error?.code == .startFailed)
        #expect(error?.service == "c")
        #expect(noted == ["+a", "+b", "+c", "-b", "-a"])
    }

    @Test func theSecondSignalEndsTheProcess() async throws {
        let release = Locked<CheckedContinuation<Void, Never>?>(nil)
        let stubborn = ClosureService("stubborn") {
        } stop: {
            await withCheckedContinuation { continuation in
                release.withLock { $0 = continuation }
                signals.send(15)
                release.withLock { $0 }?.resume()
            }
        }
        try await group([stubborn, signalling(2)]).run()
        #expect(exits.withLock { $0 } == [143])
    }

    @Test func aServiceThatDoesNotStopIsLeftBehindAfterItsTime() async throws {
        let release = Locked<CheckedContinuation<Void, Never>?>(nil)
        let stuck = ClosureService("stuck") {
        } stop: {
            note("-stuck")
            // Ignores its cancellation.
            await withCheckedContinuation { continuation in release.withLock { $0 = continuation } }
        }
        async let running: Void = group([service("a"), stuck, signalling()]).run()
        // The stop of `signal` has a sleeper only for a moment; that of `stuck` stays.
        try await eventually("stuck is being stopped") { noted.contains("-stuck") }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        try await running
        #expect(noted == ["+a", "-stuck", "-a"])
        release.withLock { $0 }?.resume()
    }

    @Test func aSignalDuringAStartCancelsIt() async throws {
        let slow = ClosureService("slow") {
            note("+slow")
            signals.send(15)
            try await Task.sleep(for: .seconds(3_600))
        } stop: {
            note("-slow")
        }
        try await group([service("a"), slow, service("b")]).run()
        #expect(noted == ["+a", "+slow", "-a"])
    }

    @Test func aStartThatSucceedsDespiteItsCancellationIsStopped() async throws {
        let slow = ClosureService("slow") {
            signals.send(15)
            try? await Task.sleep(for: .seconds(3_600))
        } stop: {
            note("-slow")
        }
        try await group([service("a"), slow, service("b")]).run()
        #expect(noted == ["+a", "-slow", "-a"])
    }

    @Test func aStartHasBoundedTime() async throws {
        let never = ClosureService("never") { try await Task.sleep(for: .seconds(3_600)) }
        let running = Task { [group = group([service("a"), never])] in try await group.run() }
        try await eventually("the start is waited for") { noted == ["+a"] && clock.sleeperCount == 1 }
        // The first sleeper may still be that of `a`, which is cancelled; time goes on until the start is given up.
        let ended = Locked(false)
        let ticking = Task {
            while !ended.withLock({ $0 }) {
                clock.advance(by: .seconds(60))
                await Task.yield()
            }
        }
        let result = await running.result
        ended.withLock { $0 = true }
        await ticking.value
        #expect { try result.get() } throws: { ($0 as? ServiceError)?.code == .startTimedOut }
        #expect(noted == ["+a", "-a"])
    }

    @Test func aServiceThatCannotGoOnEndsTheGroup() async throws {
        let holder = Locked<ServiceGroup?>(nil)
        let failing = ClosureService("failing") { holder.withLock { $0 }?.fail("failing", Broken()) }
        let group = group([service("a"), failing])
        holder.withLock { $0 = group }
        let error = await #expect(throws: ServiceError.self) { try await group.run() }
        #expect(error?.code == .failed)
        #expect(noted == ["+a", "-a"])
        holder.withLock { $0 = nil }
    }

    @Test func realSignalsAreHeard() async throws {
        let source = ProcessSignals()
        let heard = Locked<[Int32]>([])
        source.listen { number in heard.withLock { $0.append(number) } }
        try await ChildProcess.run(["sh", "-c", "kill -TERM $PPID"])
        try await eventually("the signal is heard") { heard.withLock { $0 } == [15] }
        try await ChildProcess.run(["sh", "-c", "kill -INT $PPID"])
        try await eventually("the second one is heard") { heard.withLock { $0 } == [15, 2] }
        source.ignore()
    }
}
