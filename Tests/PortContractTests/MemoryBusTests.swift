import MemoryAdapters
import Ports
import Runtime
import TestSupport
import Testing

/// The faults that tests inject into the bus in memory.
@Suite(.timeLimit(.minutes(1))) struct MemoryBusTests {
    @Test func theFilterLosesWhatItSays() async throws {
        let hub = MemoryBusHub()
        let (a, b, c) = (hub.connect("a"), hub.connect("b"), hub.connect("c"))
        let (subject, received) = (BusWorld.subject(), Collector<String>())
        let subscriptions = try [b, c].map { bus in try bus.subscribe(to: subject) { received.add("\(bus.name)\($0.number)") } }
        hub.setFilter { $0.sender == "a" && $0.receiver == "b" ? .drop : .deliver }
        try a.publish(1, to: subject)
        #expect(await received.wait(for: 1) == ["c1"])
        hub.setFilter(nil)
        try a.publish(2, to: subject)
        #expect(await received.wait(for: 3).sorted() == ["b2", "c1", "c2"])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func theFilterLosesAnswersToo() async throws {
        let hub = MemoryBusHub()
        let (a, b) = (hub.connect("a"), hub.connect("b"))
        let subject = BusWorld.subject()
        let subscription = try b.subscribe(to: subject) { $0.reply?($0.payload) }
        hub.setFilter { $0.sender == "b" ? .drop : .deliver }
        let error = await #expect(throws: BusError.self) { try await a.request([1], to: subject, timeout: .milliseconds(20)) }
        #expect(error?.code == .timedOut)
        withExtendedLifetime(subscription) {}
    }

    @Test func whatIsDelayedIsOvertaken() async throws {
        let hub = MemoryBusHub()
        let (a, b) = (hub.connect("a"), hub.connect("b"))
        let (subject, received) = (BusWorld.subject(), Collector<Int>())
        let subscription = try b.subscribe(to: subject) { received.add($0.number) }
        hub.setFilter { _ in .delay(.milliseconds(50)) }
        try a.publish(1, to: subject)
        hub.setFilter(nil)
        try a.publish(2, to: subject)
        #expect(await received.wait(for: 2) == [2, 1])
        withExtendedLifetime(subscription) {}
    }

    @Test func oneConnectionCanBeCutAlone() async throws {
        let hub = MemoryBusHub()
        let (a, b, c) = (hub.connect("a"), hub.connect("b"), hub.connect("c"))
        let (subject, received) = (BusWorld.subject(), Collector<String>())
        let subscriptions = try [b, c].map { bus in try bus.subscribe(to: subject) { received.add("\(bus.name)\($0.number)") } }
        b.disconnect()
        #expect(throws: BusError.self) { try b.publish(0, to: subject) }
        try a.publish(1, to: subject)
        #expect(await received.wait(for: 1) == ["c1"])
        b.reconnect()
        try a.publish(2, to: subject)
        #expect(await received.wait(for: 3).sorted() == ["b2", "c1", "c2"])
        withExtendedLifetime(subscriptions) {}
    }
}
