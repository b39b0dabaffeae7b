import RoostModel
import Testing

@testable import ClusterCore

@Suite struct FailureDetectorTests {
    private let timings = ClusterTimings()
    private let peers = [node("b"), node("c"), node("d")]

    /// A detector that watches three peers over a settled bus, at 10 s.
    private func settled() -> FailureDetector {
        var detector = FailureDetector(timings: timings)
        detector.bus(isConnected: true, at: .zero)
        detector.watch(peers, at: .zero)
        run(&detector, from: 100, through: 10_000) { _ in true }
        return detector
    }

    /// Ticks every 100 ms, with heartbeats of those who `beats`; answers the probes asked for.
    @discardableResult
    private func run(
        _ detector: inout FailureDetector, from start: Int, through end: Int, beats: (NodeIdentity) -> Bool
    ) -> [NodeIdentity] {
        var probes: [NodeIdentity] = []
        for time in stride(from: start, through: end, by: 100) {
            if time % 500 == 0 { for peer in peers where beats(peer) { detector.heard(from: peer, at: .milliseconds(time)) } }
            probes += detector.tick(at: .milliseconds(time))
        }
        return probes
    }

    @Test func silenceLeadsToAProbeAndItsFailureToSuspicion() {
        var detector = settled()
        same(run(&detector, from: 10_100, through: 12_000) { $0 != peers[0] }, [])
        same(run(&detector, from: 12_100, through: 12_100) { _ in false }, [peers[0]])
        #expect(detector.health(of: peers[0]) == .probing)
        #expect(detector.trustedSuspects(at: .milliseconds(12_100)).isEmpty)
        detector.probeEnded(peers[0], answered: false, at: .milliseconds(12_102))
        #expect(detector.health(of: peers[0]) == .suspect)
        #expect(detector.trustedSuspects(at: .milliseconds(12_102)) == [peers[0]])
        detector.heard(from: peers[0], at: .milliseconds(12_200))
        #expect(detector.health(of: peers[0]) == .alive)
    }

    @Test func anAnsweredProbeClearsANode() {
        var detector = settled()
        run(&detector, from: 10_100, through: 12_100) { $0 != peers[0] }
        detector.probeEnded(peers[0], answered: true, at: .milliseconds(12_110))
        #expect(detector.health(of: peers[0]) == .alive)
        same(run(&detector, from: 12_200, through: 14_100) { $0 != peers[0] }, [])
    }

    @Test func aProbeWhoseEndIsLostFails() {
        var detector = settled()
        run(&detector, from: 10_100, through: 13_200) { $0 != peers[0] }
        #expect(detector.health(of: peers[0]) == .suspect)
    }

    @Test func massSuspicionIsNotTrusted() {
        var detector = settled()
        run(&detector, from: 10_100, through: 14_000) { $0 == peers[2] }
        #expect(detector.suspects == [peers[0], peers[1]])
        #expect(detector.trustedSuspects(at: .seconds(14)).isEmpty)
        detector.heard(from: peers[1], at: .seconds(14))
        #expect(detector.trustedSuspects(at: .seconds(14)) == [peers[0]])
    }

    @Test func halfIsNotMoreThanHalf() {
        var detector = FailureDetector(timings: timings)
        detector.bus(isConnected: true, at: .zero)
        detector.watch(peers.prefix(2), at: .zero)
        run(&detector, from: 100, through: 4_000) { $0 == peers[0] }
        #expect(detector.trustedSuspects(at: .seconds(4)) == [peers[1]])
    }

    @Test func nobodyIsJudgedWhileTheBusIsAwayOrFreshlyBack() {
        var detector = settled()
        detector.bus(isConnected: false, at: .milliseconds(10_050))
        same(run(&detector, from: 10_100, through: 20_000) { _ in false }, [])
        detector.bus(isConnected: true, at: .seconds(20))
        // Only d comes back; the others are silent, but for less than the bus takes to settle.
        same(run(&detector, from: 20_100, through: 22_000) { $0 != peers[0] }, [])
        run(&detector, from: 22_100, through: 22_900) { $0 != peers[0] }
        detector.probeEnded(peers[0], answered: false, at: .milliseconds(22_910))
        #expect(detector.suspects == [peers[0]])
        #expect(detector.trustedSuspects(at: .milliseconds(22_910)).isEmpty)
        #expect(detector.trustedSuspects(at: .seconds(23)) == [peers[0]])
    }

    @Test func ourOwnPauseSaysNothingOfTheOthers() {
        var detector = settled()
        same(detector.tick(at: .seconds(60)), [])
        same(run(&detector, from: 60_100, through: 62_000) { _ in false }, [])
        same(run(&detector, from: 62_100, through: 62_100) { _ in false }.count, 3)
    }

    @Test func strangersAreIgnoredAndNewcomersAreUnheard() {
        var detector = settled()
        same(detector.heard(from: node("x"), at: .seconds(10)), false)
        detector.watch(peers + [node("e")], at: .seconds(10))
        #expect(!detector.hasHeard(node("e")))
        #expect(detector.hasHeard(peers[0]))
        detector.heard(from: node("e"), at: .seconds(10))
        #expect(detector.hasHeard(node("e")))
        // A new incarnation is another node.
        #expect(detector.health(of: node("b", life: 2)) == nil)
    }
}

@Suite struct LeaseMachineTests {
    private let timings = ClusterTimings()

    private func held() -> LeaseMachine {
        var lease = LeaseMachine(timings: timings)
        lease.registered(startedAt: .zero)
        return lease
    }

    @Test func renewsEveryTwoSecondsOneAtATime() {
        var lease = held()
        same(lease.shouldRenew(at: .milliseconds(1_999)), false)
        same(lease.shouldRenew(at: .seconds(2)), true)
        same(lease.shouldRenew(at: .seconds(4)), false)
        lease.renewalEnded(.renewed, startedAt: .seconds(2), at: .milliseconds(2_100))
        same(lease.shouldRenew(at: .milliseconds(3_999)), false)
        same(lease.shouldRenew(at: .seconds(4)), true)
    }

    @Test func servingCountsFromTheStartOfTheRenewal() {
        var lease = held()
        _ = lease.shouldRenew(at: .seconds(2))
        lease.renewalEnded(.renewed, startedAt: .seconds(2), at: .milliseconds(3_900))
        #expect(lease.servingDeadline == .milliseconds(6_500))
        #expect(lease.mayServe(at: .milliseconds(6_499)))
        #expect(!lease.mayServe(at: .milliseconds(6_500)))
    }

    @Test func aDatabaseThatIsAwayStopsServingAndItsReturnResumesIt() {
        var lease = held()
        var now = Duration.seconds(2)
        while now < .seconds(20) {
            if lease.shouldRenew(at: now) { lease.renewalEnded(.failed, startedAt: now, at: now) }
            #expect(lease.mayServe(at: now) == (now < .milliseconds(4_500)))
            now += .milliseconds(100)
        }
        #expect(lease.failures > 50)
        // The retry that follows the last failure.
        while !lease.shouldRenew(at: now) { now += .milliseconds(50) }
        lease.renewalEnded(.renewed, startedAt: now, at: now)
        #expect(lease.mayServe(at: now))
        #expect(lease.failures == 0)
    }

    @Test func declaredDeadEndsItForGood() {
        var lease = held()
        _ = lease.shouldRenew(at: .seconds(2))
        lease.renewalEnded(.declaredDead, startedAt: .seconds(2), at: .seconds(2))
        #expect(lease.servingDeadline == nil)
        same(lease.shouldRenew(at: .seconds(9)), false)
        lease.renewalEnded(.renewed, startedAt: .seconds(2), at: .seconds(3))
        #expect(!lease.mayServe(at: .seconds(3)))
    }
}

@Suite struct LeaderMachineTests {
    private let timings = ClusterTimings()
    private let incumbent = node("a").incarnation

    @Test func theFirstInRankTriesAtOnceAndTheOthersWait() {
        var first = LeaderMachine(timings: timings)
        var third = LeaderMachine(timings: timings)
        #expect(first.tick(.vacant(incumbent), rank: 0, at: .seconds(1))?.displacing == incumbent)
        same(third.tick(.vacant(incumbent), rank: 2, at: .seconds(1)), nil)
        same(third.tick(.vacant(incumbent), rank: 2, at: .milliseconds(1_799)), nil)
        #expect(third.tick(.vacant(incumbent), rank: 2, at: .milliseconds(1_800)) != nil)
    }

    @Test func waitingBeginsAnewWhenTheLeaderRecovers() {
        var machine = LeaderMachine(timings: timings)
        _ = machine.tick(.vacant(incumbent), rank: 1, at: .seconds(1))
        _ = machine.tick(.fine, rank: 1, at: .milliseconds(1_200))
        same(machine.tick(.vacant(incumbent), rank: 1, at: .milliseconds(1_500)), nil)
    }

    @Test func leadsUnderItsTermAndRenews() {
        var machine = LeaderMachine(timings: timings)
        _ = machine.tick(.vacant(nil), rank: 0, at: .zero)
        #expect(machine.term(at: .zero) == nil)
        machine.attemptEnded(term: 7, startedAt: .zero, at: .milliseconds(10))
        #expect(machine.term(at: .seconds(1)) == 7)
        same(machine.tick(.fine, rank: 0, at: .seconds(1)), nil)
        #expect(machine.tick(.fine, rank: 0, at: .seconds(2)) == LeaderMachine.Attempt(displacing: nil))
        machine.attemptFailed(at: .seconds(3))
        #expect(machine.term(at: .milliseconds(4_499)) == 7)
        #expect(machine.term(at: .milliseconds(4_500)) == nil)
    }

    @Test func aRefusedAttemptEndsTheTenure() {
        var machine = LeaderMachine(timings: timings)
        _ = machine.tick(.vacant(nil), rank: 0, at: .zero)
        machine.attemptEnded(term: 7, startedAt: .zero, at: .zero)
        _ = machine.tick(.fine, rank: 0, at: .seconds(2))
        machine.attemptEnded(term: nil, startedAt: .seconds(2), at: .seconds(2))
        #expect(machine.term(at: .seconds(2)) == nil)
        same(machine.tick(.fine, rank: 0, at: .seconds(9)), nil)
    }
}
