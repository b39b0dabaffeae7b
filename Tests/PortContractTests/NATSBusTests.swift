import NATSBus
import Ports
import Runtime
import TestSupport
import Testing

/// What only the real bus can do wrong.
@Suite(.timeLimit(.minutes(2))) struct NATSBusTests {
    @Test func itStartsWithoutAServerAndConnectsLater() async throws {
        let server = try await NATSServerProcess.make(isStarted: false)
        let metrics = Metrics()
        let bus = NATSBus(NATSBusOptions(url: server.url, name: "a"), metrics: metrics)
        let (subject, received, events) = (BusWorld.subject(), Collector<Int>(), Collector<BusEvent>())
        bus.observe { events.add($0) }
        try await bus.start()
        #expect(bus.state == .disconnected)
        #expect(metrics.render().contains("roost_bus_connected 0\n"))
        let subscription = try bus.subscribe(to: subject) { received.add($0.number) }
        #expect(throws: BusError.self) { try bus.publish(1, to: subject) }
        try await server.start()
        #expect(await events.wait(for: 1) == [.reconnected])
        try bus.publish(2, to: subject)
        #expect(await received.wait(for: 1) == [2])
        #expect(metrics.render().contains("roost_bus_connected 1\n"))
        withExtendedLifetime(subscription) {}
        await bus.stop()
        await server.remove()
    }

    @Test func credentialsStandInTheURL() async throws {
        let server = try await NATSServerProcess.make(maximumPayloadBytes: 1_000, password: "open-sesame")
        let bus = NATSBus(NATSBusOptions(url: server.url, name: "a"))
        try await bus.start()
        #expect(bus.state == .connected)
        #expect(bus.maximumPayloadBytes == 1_000)
        try await bus.synchronize()
        await bus.stop()

        let failures = Collector<String>()
        let strange = NATSBusOptions(url: "nats://roost:wrong@127.0.0.1:\(server.port)", name: "b")
        let stranger = NATSBus(strange, onFailure: { failures.add("\($0)") })
        try? await stranger.start()
        #expect(await failures.wait(for: 1).first?.contains("wrong@") == false)
        #expect(stranger.state == .disconnected)
        await stranger.stop()
        await server.remove()
    }

    @Test func aURLThatIsNoneIsRefused() async throws {
        let bus = NATSBus(NATSBusOptions(url: "nats://127.0.0.1:port", name: "a"))
        let error = await #expect(throws: BusError.self) { try await bus.start() }
        #expect(error?.code == .refused)
    }

    @Test func aSilentServerIsGivenUp() async throws {
        let server = try await NATSServerProcess.make()
        var options = NATSBusOptions(url: server.url, name: "a")
        options.pingInterval = .milliseconds(100)
        let bus = NATSBus(options)
        let events = Collector<BusEvent>()
        bus.observe { events.add($0) }
        try await bus.start()
        server.pause()
        await events.wait(for: 1)
        #expect(throws: BusError.self) { try bus.publish([1], to: BusWorld.subject()) }
        server.resume()
        #expect(await events.wait(for: 2) == [.disconnected, .reconnected])
        await bus.stop()
        await server.remove()
    }

    @Test func aServerThatDoesNotReadHoldsUpAPublisherForTheDeadlineAtMost() async throws {
        let server = try await NATSServerProcess.make()
        var options = NATSBusOptions(url: server.url, name: "a")
        options.writeDeadline = .milliseconds(100)
        options.pingInterval = .seconds(600)
        let bus = NATSBus(options)
        try await bus.start()
        server.pause()
        // Fills the buffers of the socket, and then fails; without a deadline it would block for ever.
        let payload = [UInt8](repeating: 0, count: 1 << 20)
        #expect(throws: BusError.self) { for _ in 0..<1_000 { try bus.publish(payload, to: BusWorld.subject()) } }
        server.resume()
        await bus.stop()
        await server.remove()
    }

    @Test func whatIsPublishedBeforeTheStopArrives() async throws {
        let server = try await NATSServerProcess.shared()
        let (sender, receiver) =
            (NATSBus(NATSBusOptions(url: server.url, name: "a")), NATSBus(NATSBusOptions(url: server.url, name: "b")))
        try await sender.start()
        try await receiver.start()
        let (subject, received) = (BusWorld.subject(), Collector<Int>())
        let subscription = try receiver.subscribe(to: subject) { received.add($0.number) }
        try await receiver.synchronize()
        for number in 0..<1_000 { try sender.publish(number, to: subject) }
        await sender.stop()
        let error = #expect(throws: BusError.self) { try sender.publish(1, to: subject) }
        #expect(error?.code == .disconnected)
        #expect(throws: BusError.self) { _ = try sender.subscribe(to: subject) { _ in } }
        #expect(await received.wait(for: 1_000) == Array(0..<1_000))
        withExtendedLifetime(subscription) {}
        await receiver.stop()
        await sender.stop()
    }

    @Test func subscriptionsShareFewThreads() async throws {
        let server = try await NATSServerProcess.shared()
        let bus = NATSBus(NATSBusOptions(url: server.url, name: "a"))
        try await bus.start()
        let before = ProcessMetrics.threads()
        let subscriptions = try (0..<500).map { _ in try bus.subscribe(to: BusWorld.subject()) { _ in } }
        try await bus.synchronize()
        #expect(ProcessMetrics.threads() < before + 250)
        for subscription in subscriptions { subscription.cancel() }
        await bus.stop()
    }
}
