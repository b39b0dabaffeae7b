import RoostModel
import TestSupport
import Testing

@testable import ClusterCore

@Suite struct MembershipMachineTests {
    private let a1 = node("a", life: 1)
    private let a2 = node("a", life: 2)
    private let b = node("b", life: 1)

    /// A machine that joined as `a1` at 0 s and has its first view.
    private func joined(_ store: inout SimulatedClusterStore) -> MembershipMachine {
        var machine = MembershipMachine(name: "a", timings: ClusterTimings())
        _ = machine.bus(isConnected: true, at: .zero)
        same(machine.tick(at: .zero), [.register])
        machine.willRegister(a1.incarnation)
        store.register(a1, at: .zero)
        same(machine.registered(a1, startedAt: .zero, at: .zero).contains(.joined(a1)), true)
        _ = machine.announced(a1, at: .zero)
        let actions = machine.viewLoaded(a1, .success(store.snapshot(at: .zero)), startedAt: .zero, at: .zero)
        #expect(actions.contains { if case .publish = $0 { true } else { false } })
        return machine
    }

    @Test func registersOnlyWithABus() {
        var machine = MembershipMachine(name: "a", timings: ClusterTimings())
        same(machine.tick(at: .zero), [])
        _ = machine.bus(isConnected: true, at: .seconds(1))
        same(machine.tick(at: .seconds(1)), [.register])
        same(machine.tick(at: .seconds(2)), [])
        machine.registrationFailed(at: .seconds(2))
        same(machine.tick(at: .milliseconds(2_200)), [])
        same(machine.tick(at: .milliseconds(2_250)), [.register])
    }

    @Test func sendsNoHeartbeatBeforeItIsAnnounced() {
        var machine = MembershipMachine(name: "a", timings: ClusterTimings())
        _ = machine.bus(isConnected: true, at: .zero)
        _ = machine.tick(at: .zero)
        let isHeartbeat: (MembershipAction) -> Bool = { if case .sendHeartbeat = $0 { true } else { false } }
        same(machine.registered(a1, startedAt: .zero, at: .zero).contains(where: isHeartbeat), false)
        same(machine.tick(at: .seconds(1)).contains(where: isHeartbeat), false)
        same(machine.announced(a1, at: .seconds(1)).contains(where: isHeartbeat), true)
        same(machine.announced(a1, at: .milliseconds(1_100)).contains(where: isHeartbeat), false)
    }

    @Test func declaredDeadItStopsServingAtOnceAndComesBackAnew() {
        var store = SimulatedClusterStore()
        var machine = joined(&store)
        #expect(machine.servingDeadline == .milliseconds(4_500))
        store.register(b, at: .zero)
        let term = store.lead(b, displacing: nil, at: .zero)!
        same(store.declareDead(a1, [], term: term), true)
        let actions = machine.renewalEnded(a1, .declaredDead, startedAt: .seconds(2), at: .seconds(2))
        #expect(machine.servingDeadline == nil)
        #expect(actions == [.loadView(a1)])
        same(
            machine.viewLoaded(a1, .success(store.snapshot(at: .seconds(2))), startedAt: .seconds(2), at: .seconds(2)),
            [.register])
        #expect(machine.identity == nil)
        // What the old incarnation had under way is over.
        same(machine.renewalEnded(a1, .renewed, startedAt: .seconds(2), at: .seconds(3)), [])
        machine.willRegister(a2.incarnation)
        _ = machine.registered(a2, startedAt: .seconds(3), at: .seconds(3))
        #expect(machine.identity == a2)
        same(machine.renewalEnded(a1, .declaredDead, startedAt: .seconds(2), at: .seconds(3)), [])
        #expect(machine.servingDeadline == .milliseconds(7_500))
    }

    @Test func anotherProcessOfItsNameDisplacesIt() {
        var store = SimulatedClusterStore()
        var machine = joined(&store)
        store.register(a2, at: .seconds(1))
        let actions = machine.viewLoaded(a1, .success(store.snapshot(at: .seconds(1))), startedAt: .seconds(1), at: .seconds(1))
        #expect(actions == [.displaced(by: a2)])
        #expect(machine.isEnded)
        same(machine.tick(at: .seconds(9)), [])
    }

    @Test func aRegistrationWhoseAnswerWasLostDoesNotDisplaceIt() {
        var store = SimulatedClusterStore()
        var machine = MembershipMachine(name: "a", timings: ClusterTimings())
        _ = machine.bus(isConnected: true, at: .zero)
        _ = machine.tick(at: .zero)
        machine.willRegister(a2.incarnation)
        machine.registrationFailed(at: .zero)
        _ = machine.tick(at: .seconds(1))
        machine.willRegister(a1.incarnation)
        store.register(a1, at: .seconds(1))
        _ = machine.registered(a1, startedAt: .seconds(1), at: .seconds(1))
        // The first attempt takes effect after the second.
        store.register(a2, at: .seconds(1))
        same(
            machine.viewLoaded(a1, .success(store.snapshot(at: .seconds(2))), startedAt: .seconds(2), at: .seconds(2)),
            [.register])
    }

    @Test func leavingItLeadsNoMoreAndEnds() {
        var store = SimulatedClusterStore()
        var machine = joined(&store)
        _ = machine.leadEnded(a1, .success(store.lead(a1, displacing: nil, at: .zero)), startedAt: .zero, at: .zero)
        #expect(machine.isLeading(at: .zero))
        machine.beginLeaving()
        #expect(!machine.isLeading(at: .zero))
        let renews = machine.tick(at: .seconds(2))
        #expect(renews.contains(.renew(a1)))
        #expect(!renews.contains { if case .lead = $0 { true } else { false } })
        same(machine.left(), [.announceView(version: .max)])
        #expect(machine.servingDeadline == nil)
        same(machine.tick(at: .seconds(9)), [])
    }

    @Test func aFailedReleaseIsTriedAgain() throws {
        var store = SimulatedClusterStore()
        var machine = joined(&store)
        store.register(b, at: .zero)
        let term = store.lead(b, displacing: nil, at: .zero)!
        let shard = ShardID(kind: .conversation, number: 3)
        same(store.place([ShardPlacement(shard: shard, to: a1, ifEpoch: Epoch(0), isMove: false)], term: term), true)
        same(store.place([ShardPlacement(shard: shard, to: b, ifEpoch: Epoch(1), isMove: true)], term: term), true)
        let actions = machine.viewLoaded(a1, .success(store.snapshot(at: .zero)), startedAt: .zero, at: .zero)
        #expect(actions.contains(.release(a1, [.shard(shard)])))
        _ = machine.releaseEnded(a1, [.shard(shard)], .failed, at: .seconds(1))
        same(machine.tick(at: .milliseconds(1_100)).contains(.release(a1, [.shard(shard)])), false)
        same(machine.tick(at: .milliseconds(1_250)).contains(.release(a1, [.shard(shard)])), true)
        store.release([.shard(shard)], by: a1)
        _ = machine.releaseEnded(a1, [.shard(shard)], .failed, at: .milliseconds(1_300))
        // It had taken effect after all, as the next view tells.
        _ = machine.viewLoaded(a1, .success(store.snapshot(at: .seconds(1))), startedAt: .seconds(1), at: .milliseconds(1_400))
        same(machine.tick(at: .seconds(3)).contains(.release(a1, [.shard(shard)])), false)
        #expect(machine.view?.table.owner(of: shard) == b)
    }

    /// From a release until its heir has the view nothing waits for a tick or a poll, nor is more loaded than needed.
    @Test func aReleaseIsHeardOfAndLoadedAtOnce() {
        let loads: (MembershipAction) -> Bool = { if case .loadView = $0 { true } else { false } }
        var store = SimulatedClusterStore()
        var machine = joined(&store)
        let now = Duration.milliseconds(30)
        // Its own release: all are told, whatever version they have, and it loads at once.
        let released = machine.releaseEnded(a1, [.shard(ShardID.all[0])], .success(()), at: now)
        #expect(released.contains(.announceView(version: .max)) && released.contains(where: loads))
        // What is heard while a load is under way is in it, or is loaded right after it.
        let version = machine.view!.version
        same(machine.received(hint: version + 1, at: now), [])
        store.register(b, at: now)
        var actions = machine.viewLoaded(a1, .success(store.snapshot(at: now)), startedAt: now, at: now)
        #expect(machine.view?.version == version + 1 && !actions.contains(where: loads))
        #expect(actions.contains(.announceView(version: version + 1)))
        // Another's: loaded at once, and once more where it came too late for the load that was under way.
        same(machine.received(hint: .max, at: now).contains(where: loads), true)
        same(machine.received(hint: version + 1, at: now), [])
        same(machine.received(hint: version + 2, at: now), [])
        actions = machine.viewLoaded(a1, .success(store.snapshot(at: now)), startedAt: now, at: now)
        #expect(actions.contains(where: loads))
        same(machine.received(hint: .max, at: now).contains(where: loads), false)
        actions = machine.viewLoaded(a1, .success(store.snapshot(at: now)), startedAt: now, at: now)
        #expect(actions.contains(where: loads))
        actions = machine.viewLoaded(a1, .success(store.snapshot(at: now)), startedAt: now, at: now)
        #expect(!actions.contains(where: loads))
    }

    @Test func anExpiredLeaseSaysNothingSoonAfterTheStoreWasAway() {
        var health = StoreHealth()
        let timings = ClusterTimings()
        health.answered(at: .seconds(10), timings)
        #expect(health.leasesBelievedFrom == .seconds(16))
        for second in 11...30 { health.answered(at: .seconds(second), timings) }
        #expect(health.leasesBelievedFrom == .seconds(16))
        health.answered(at: .seconds(34), timings)
        #expect(health.leasesBelievedFrom == .seconds(40))
    }
}
