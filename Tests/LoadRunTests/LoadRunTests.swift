import EventLoop
import LoadCore
import RoostClient
import Testing

@testable import roost_load

/// Whole runs of the load tester against a server whose faults are known: each kind must be found, and only that.
@Suite(.serialized) struct LoadRunTests {
    /// A short open loop: 8 clients, about 100 sends.
    private func run(
        tokenSeconds: Double = 900, change: (inout LoadOptions) -> Void = { _ in },
        _ mischief: @escaping @Sendable (Int) -> FakeRoost.Mischief
    ) async throws -> Tally {
        let serverLoop = try EventLoop(name: "fake")
        let loop = try EventLoop(name: "load")
        serverLoop.start()
        loop.start()
        let server = FakeRoost(serverLoop, tokenSeconds: tokenSeconds, mischief: mischief)
        try await server.start()
        var options = LoadOptions(command: .pairs)
        options.nodes = server.ports.map { "http://127.0.0.1:\($0)" }
        options.clients = 8
        options.pacing = .rate(200)
        options.seconds = 0.5
        options.settleSeconds = 3
        options.isQuiet = true
        change(&options)
        let command = PairsCommand(
            options: options, surroundings: try Surroundings.read(options), context: ClientLoop(loop),
            stop: StopSignal(listens: false),
            announces: false)
        let report = try await command.run()
        await loop.stop()
        await server.stop()
        await serverLoop.stop()
        return report.tally
    }

    /// Something done to the 40th send only.
    private func once(_ mischief: FakeRoost.Mischief) -> @Sendable (Int) -> FakeRoost.Mischief {
        { $0 == 40 ? mischief : .none }
    }

    @Test func aFaultlessServerIsClean() async throws {
        let tally = try await run { _ in .none }
        #expect(tally.isClean)
        #expect(tally.acknowledged == tally.scheduled)
        #expect(tally.stored == tally.scheduled)
        #expect(tally.delivered == tally.scheduled)
        #expect(tally.deliveries == 2 * tally.scheduled)
        #expect(tally.scheduled >= 100)
        #expect(tally.unexpected == 0)
        #expect(tally.retryable == 0)
        #expect(tally.ackLatency.count == UInt64(tally.acknowledged))
    }

    @Test func theClosedLoopKeepsItsNumberInFlight() async throws {
        let tally = try await run(change: { $0.pacing = .inFlight(5) }) { _ in .none }
        #expect(tally.isClean)
        #expect(tally.acknowledged == tally.scheduled)
        #expect(tally.scheduled > 10)
    }

    @Test func aForgottenMessageIsLost() async throws {
        let tally = try await run(once(.forgotten))
        #expect(tally.lostFromHistory == 1)
        #expect(tally.notDense >= 1)
        #expect(!tally.isClean)
    }

    @Test func aMessageStoredTwiceIsDoubled() async throws {
        let tally = try await run(once(.doubled))
        #expect(tally.duplicated == 1)
        #expect(!tally.isClean)
    }

    @Test func anEventTwiceIsDoubled() async throws {
        let tally = try await run(once(.eventTwice))
        #expect(tally.duplicated == 2, "both members saw it twice")
        #expect(!tally.isClean)
    }

    @Test func aLateEventIsOutOfOrder() async throws {
        let tally = try await run(once(.eventLate))
        #expect(tally.outOfOrder == 2)
        #expect(tally.holes == 2)
        #expect(tally.duplicated == 0)
        #expect(!tally.isClean)
    }

    @Test func aHoleIsMendedAndNoFault() async throws {
        let tally = try await run(once(.eventMissing))
        #expect(tally.holes == 2)
        #expect(tally.repaired >= 2)
        #expect(tally.isClean)
    }

    @Test func theLastEventMissingWithoutAWordIsALoss() async throws {
        // No later event shows the hole, and nobody said resync.
        let tally = try await run(
            change: {
                $0.settleSeconds = 0.5
                $0.pacing = .inFlight(1)
            },
            { $0 >= 40 ? .eventMissing : .none })
        #expect(tally.neverDelivered > 0)
        #expect(tally.lostFromHistory == 0)
        #expect(!tally.isClean)
    }

    @Test func aGarbledTextIsFound() async throws {
        let tally = try await run(once(.garbled))
        #expect(tally.corrupted >= 1)
        #expect(!tally.isClean)
    }

    @Test func anUnavailableSendIsRepeated() async throws {
        let tally = try await run(once(.unavailable))
        #expect(tally.retryableErrors == ["unavailable": 1])
        #expect(tally.acknowledged == tally.scheduled)
        #expect(tally.attempts == tally.scheduled + 1)
        #expect(tally.isClean)
    }

    @Test func aRefusedSendIsCountedAndNotRepeated() async throws {
        let tally = try await run(once(.blocked))
        #expect(tally.failures == ["blocked": 1])
        #expect(tally.acknowledged == tally.scheduled - 1)
        #expect(tally.isClean)
    }

    @Test(arguments: [FakeRoost.Mischief.answerLost, .requestLost])
    func aBrokenLineCostsNothing(_ mischief: FakeRoost.Mischief) async throws {
        let tally = try await run(once(mischief))
        #expect(tally.reconnects == 1)
        #expect(tally.acknowledged == tally.scheduled)
        #expect(tally.stored == tally.scheduled)
        #expect(tally.isClean)
    }

    @Test func aMessageToldButNotStoredIsAPhantom() async throws {
        // The line breaks for good: the send can never be repeated, as all later ones are refused.
        let tally = try await run(
            change: { $0.settleSeconds = 0.5 },
            { $0 < 40 ? .none : $0 == 40 ? .phantom : .blocked })
        #expect(tally.phantoms == 1)
        #expect(!tally.isClean)
    }

    @Test func resyncIsHeeded() async throws {
        let tally = try await run { $0 >= 40 ? .resync : .none }
        #expect(tally.resyncs > 0)
        #expect(tally.repaired > 0)
        #expect(tally.isClean)
        #expect(tally.delivered == tally.scheduled)
    }

    @Test func aLeavingNodeIsLeft() async throws {
        let tally = try await run(once(.goaway))
        #expect(tally.goaways == 1)
        #expect(tally.reconnects == 1)
        #expect(tally.isClean)
    }

    @Test func aMissingAnswerIsADeadLine() async throws {
        let tally = try await run(change: { $0.answerTimeoutSeconds = 0.3 }, once(.silent))
        #expect(tally.answerTimeouts == 1)
        #expect(tally.acknowledged == tally.scheduled)
        #expect(tally.stored == tally.scheduled)
        #expect(tally.isClean)
    }

    @Test func tokensAreRenewedBeforeTheyEnd() async throws {
        let tally = try await run(tokenSeconds: 1.2, change: { $0.seconds = 1.5 }) { _ in .none }
        #expect(tally.tokenRefreshes > 0)
        #expect(tally.isClean)
    }
}
