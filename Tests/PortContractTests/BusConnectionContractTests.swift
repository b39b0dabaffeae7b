import Ports
import Runtime
import TestSupport
import Testing

/// What every ``MessageBus`` does when its server goes away and comes back.
@Suite(.timeLimit(.minutes(2))) struct BusConnectionContractTests {
    @Test(arguments: BusKind.allCases) func withoutAServerEverythingFailsAtOnce(_ kind: BusKind) async throws {
        try await BusWorld.with(kind, mayStop: true) { world in
            let bus = try await world.connect("a")
            let (subject, events) = (BusWorld.subject(), Collector<BusEvent>())
            bus.observe { events.add($0) }
            let subscription = try bus.subscribe(to: subject) { _ in }
            try await bus.synchronize()
            let answers = Collector<Result<[UInt8], BusError>>()
            bus.request([1], to: subject, timeout: .seconds(600)) { answers.add($0) }
            try await bus.synchronize()
            await world.stopServer()
            #expect(await events.wait(for: 1) == [.disconnected])
            #expect(bus.state == .disconnected)
            await answers.wait(for: 1)
            let lost = #expect(throws: BusError.self) { try answers.elements[0].get() }
            #expect(lost?.code == .disconnected)
            #expect(lost?.isRetryable == true)
            let refused = #expect(throws: BusError.self) { try bus.publish([1], to: subject) }
            #expect(refused?.code == .disconnected)
            let unasked = await #expect(throws: BusError.self) {
                try await bus.request([1], to: subject, timeout: .seconds(600))
            }
            #expect(unasked?.code == .disconnected)
            let unheard = await #expect(throws: BusError.self) { try await bus.synchronize(timeout: .seconds(600)) }
            #expect(unheard?.code == .disconnected)
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func subscriptionsWorkAgainAfterARestart(_ kind: BusKind) async throws {
        try await BusWorld.with(kind, mayStop: true) { world in
            let (sender, receiver) = (try await world.connect("a"), try await world.connect("b"))
            let (subject, second) = (BusWorld.subject(), BusWorld.subject())
            let (received, events) = (Collector<Int>(), Collector<BusEvent>())
            let subscription = try receiver.subscribe(to: subject) { received.add($0.number) }
            for bus in [sender, receiver] { bus.observe { events.add($0) } }
            try await receiver.synchronize()
            try sender.publish(1, to: subject)
            await received.wait(for: 1)
            for round in 1...2 {
                await world.stopServer()
                await events.wait { $0.count { $0 == .disconnected } == 2 * round }
                #expect(throws: BusError.self) { try sender.publish(-1, to: subject) }
                let later = try receiver.subscribe(to: second) { received.add($0.number) }
                try await world.startServer()
                await events.wait { $0.count { $0 == .reconnected } == 2 * round }
                #expect(sender.state == .connected && receiver.state == .connected)
                try await receiver.synchronize()
                try sender.publish(round * 10, to: subject)
                try sender.publish(round * 10 + 1, to: second)
                await received.wait(for: 1 + 2 * round)
                later.cancel()
            }
            #expect(received.elements.sorted() == [1, 10, 11, 20, 21], "nothing from the time without a server came late")
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func requestsWorkAgainAfterARestart(_ kind: BusKind) async throws {
        try await BusWorld.with(kind, mayStop: true) { world in
            let bus = try await world.connect("a")
            let (subject, events) = (BusWorld.subject(), Collector<BusEvent>())
            bus.observe { events.add($0) }
            let subscription = try bus.subscribe(to: subject) { $0.reply?($0.payload) }
            #expect(try await bus.request([1], to: subject, timeout: .seconds(30)) == [1])
            await world.stopServer()
            await events.wait(for: 1)
            try await world.startServer()
            #expect(await events.wait(for: 2) == [.disconnected, .reconnected])
            #expect(try await bus.request([2], to: subject, timeout: .seconds(30)) == [2])
            withExtendedLifetime(subscription) {}
        }
    }
}
