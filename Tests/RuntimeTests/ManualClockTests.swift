import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ManualClockTests {
    @Test func sleepersWakeWhenTheirTimeComes() async throws {
        let clock = ManualClock()
        let short = Task { try await clock.sleep(for: .seconds(1)) }
        let long = Task { try await clock.sleep(for: .seconds(2)) }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        try await short.value
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        try await long.value
        #expect(clock.now.offset == .seconds(2))
    }

    @Test func aCancelledSleeperWakesAtOnce() async {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }
}
