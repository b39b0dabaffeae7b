import Dispatch
import Ports
import Runtime
import Synchronization
import TestSupport
import Testing

/// What every ``MessageBus`` does.
@Suite(.timeLimit(.minutes(2))) struct BusContractTests {
    @Test(arguments: BusKind.allCases) func messagesOfOneSubjectKeepTheirOrder(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let (sender, receiver) = (try await world.connect("a"), try await world.connect("b"))
            let (subject, received) = (BusWorld.subject(), Collector<Int>())
            let subscription = try receiver.subscribe(to: subject) { received.add($0.number) }
            try await receiver.synchronize()
            for number in 0..<10_000 { try sender.publish(number, to: subject) }
            #expect(await received.wait(for: 10_000) == Array(0..<10_000))
            subscription.cancel()
        }
    }

    @Test(arguments: BusKind.allCases) func allSubscribersGetEachMessageTheSenderToo(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let (first, second) = (try await world.connect("a"), try await world.connect("b"))
            let (subject, other) = (BusWorld.subject(), BusWorld.subject())
            let received = (0..<4).map { _ in Collector<Int>() }
            let subscriptions = try [first, first, second].enumerated().map { index, bus in
                try bus.subscribe(to: subject) { received[index].add($0.number) }
            }
            let elsewhere = try second.subscribe(to: other) { received[3].add($0.number) }
            try await first.synchronize()
            try await second.synchronize()
            for number in 0..<100 { try first.publish(number, to: subject) }
            try first.publish(-1, to: other)
            for collector in received[0..<3] { #expect(await collector.wait(for: 100) == Array(0..<100)) }
            #expect(await received[3].wait(for: 1) == [-1])
            withExtendedLifetime((subscriptions, elsewhere)) {}
        }
    }

    @Test(arguments: BusKind.allCases) func payloadsArriveAsTheyAre(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let (subject, received) = (BusWorld.subject(), Collector<BusMessage>())
            let subscription = try bus.subscribe(to: subject) { received.add($0) }
            let payloads: [[UInt8]] = [[], Array(0...255), [0, 13, 10, 0], Array(repeating: 7, count: bus.maximumPayloadBytes)]
            for payload in payloads { try bus.publish(payload, to: subject) }
            let messages = await received.wait(for: payloads.count)
            #expect(messages.map(\.payload) == payloads)
            #expect(messages.allSatisfy { $0.subject == subject && $0.reply == nil })
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func twoPublishersLoseAndMixNothing(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let (first, second, receiver) =
                (try await world.connect("a"), try await world.connect("b"), try await world.connect("c"))
            let (subject, received) = (BusWorld.subject(), Collector<Int>())
            let running = Atomic<Int>(0)
            let overlaps = Atomic<Int>(0)
            let subscription = try receiver.subscribe(to: subject) { message in
                if running.wrappingAdd(1, ordering: .relaxed).newValue != 1 { overlaps.wrappingAdd(1, ordering: .relaxed) }
                received.add(message.number)
                running.wrappingSubtract(1, ordering: .relaxed)
            }
            try await receiver.synchronize()
            await withThrowingTaskGroup(of: Void.self) { group in
                for (bus, base) in [(first, 0), (second, 1_000_000)] {
                    group.addTask { for number in 0..<50_000 { try bus.publish(base + number, to: subject) } }
                }
            }
            let numbers = await received.wait(for: 100_000)
            #expect(numbers.filter { $0 < 1_000_000 } == Array(0..<50_000))
            #expect(numbers.filter { $0 >= 1_000_000 } == Array(1_000_000..<1_050_000))
            #expect(overlaps.load(ordering: .relaxed) == 0, "a handler was called twice at once")
            withExtendedLifetime(subscription) {}
        }
    }

    // MARK: Requests

    @Test(arguments: BusKind.allCases) func everyRequestGetsItsOwnAnswer(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let (asker, answerer) = (try await world.connect("a"), try await world.connect("b"))
            let subject = BusWorld.subject()
            let subscription = try answerer.subscribe(to: subject) { message in message.reply?(message.payload + [1]) }
            try await answerer.synchronize()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in UInt8(0)..<200 {
                    group.addTask {
                        try await asker.request([number], to: subject, timeout: .seconds(30)) == [number, 1]
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func aRequestToNobodyFailsAtOnce(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            // The time-out is longer than the test may take.
            let error = await #expect(throws: BusError.self) {
                try await bus.request([1], to: BusWorld.subject(), timeout: .seconds(600))
            }
            #expect(error?.code == .noResponders)
        }
    }

    @Test(arguments: BusKind.allCases) func aRequestWithoutAnswerTimesOutAndALateAnswerIsNothing(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let (subject, asked) = (BusWorld.subject(), Collector<BusMessage>())
            let subscription = try bus.subscribe(to: subject) { asked.add($0) }
            for timeout in [Duration.zero, .milliseconds(50)] {
                let error = await #expect(throws: BusError.self) { try await bus.request([1], to: subject, timeout: timeout) }
                #expect(error?.code == .timedOut)
            }
            for message in await asked.wait(for: 2) { message.reply?([2]) }
            try await bus.synchronize()
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func tooManyRequestsAreRefusedUntilSomeEnd(_ kind: BusKind) async throws {
        try await BusWorld.with(kind, pendingLimit: 2) { world in
            let bus = try await world.connect("a")
            let (subject, asked) = (BusWorld.subject(), Collector<BusMessage>())
            let subscription = try bus.subscribe(to: subject) { asked.add($0) }
            let answers = Collector<Result<[UInt8], BusError>>()
            for _ in 0..<3 { bus.request([1], to: subject, timeout: .seconds(600)) { answers.add($0) } }
            let first = await answers.wait(for: 1)
            #expect(throws: BusError.self) { try first[0].get() }
            for message in await asked.wait(for: 2) { message.reply?([2]) }
            let all = await answers.wait(for: 3)
            #expect(all[1...].map { try? $0.get() } == [[2], [2]])
            bus.request([1], to: subject, timeout: .seconds(600)) { answers.add($0) }
            await asked.wait(for: 3)[2].reply?([3])
            #expect(try await answers.wait(for: 4)[3].get() == [3])
            withExtendedLifetime(subscription) {}
        }
    }

    @Test(arguments: BusKind.allCases) func whatIsTooLargeIsRefusedHere(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let subject = BusWorld.subject()
            let payload = [UInt8](repeating: 0, count: bus.maximumPayloadBytes + 1)
            var error = #expect(throws: BusError.self) { try bus.publish(payload, to: subject) }
            #expect(error?.code == .tooLarge)
            #expect(error?.isRetryable == false)
            error = await #expect(throws: BusError.self) { try await bus.request(payload, to: subject, timeout: .seconds(600)) }
            #expect(error?.code == .tooLarge)
            // The connection has not suffered.
            try await bus.synchronize()
            #expect(bus.state == .connected)
        }
    }

    // MARK: Subscriptions' ends

    @Test(arguments: BusKind.allCases) func nothingIsHandledAfterACancellation(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let (subject, received, control) = (BusWorld.subject(), Collector<Int>(), Collector<Int>())
            let subscription = try bus.subscribe(to: subject) { received.add($0.number) }
            let other = try bus.subscribe(to: subject) { control.add($0.number) }
            try bus.publish(1, to: subject)
            await received.wait(for: 1)
            subscription.cancel()
            subscription.cancel()
            for number in 2..<100 { try bus.publish(number, to: subject) }
            await control.wait(for: 99)
            #expect(received.elements == [1])
            withExtendedLifetime((subscription, other)) {}
        }
    }

    @Test(arguments: BusKind.allCases) func aHandlerMayCancelItsOwnSubscription(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let (subject, received, control) = (BusWorld.subject(), Collector<Int>(), Collector<Int>())
            let mine = Locked<(any BusSubscription)?>(nil)
            let subscription = try bus.subscribe(to: subject) { message in
                received.add(message.number)
                mine.withLock { $0 }?.cancel()
            }
            mine.withLock { $0 = subscription }
            let other = try bus.subscribe(to: subject) { control.add($0.number) }
            for number in 0..<100 { try bus.publish(number, to: subject) }
            await control.wait(for: 100)
            await received.wait(for: 1)
            try await bus.synchronize()
            #expect(received.elements == [0])
            mine.withLock { $0 = nil }
            withExtendedLifetime((subscription, other)) {}
        }
    }

    @Test(arguments: BusKind.allCases) func aReleasedSubscriptionEnds(_ kind: BusKind) async throws {
        try await BusWorld.with(kind) { world in
            let bus = try await world.connect("a")
            let subject = BusWorld.subject()
            var subscription: (any BusSubscription)? = try bus.subscribe(to: subject) { $0.reply?([]) }
            _ = try await bus.request([], to: subject, timeout: .seconds(30))
            subscription = nil
            _ = subscription
            let error = await #expect(throws: BusError.self) { try await bus.request([], to: subject, timeout: .seconds(600)) }
            #expect(error?.code == .noResponders)
        }
    }

    @Test(arguments: BusKind.allCases) func aSlowSubscriberLosesTheOverflowAndIsTold(_ kind: BusKind) async throws {
        try await BusWorld.with(kind, backlogLimit: 100) { world in
            let (sender, receiver) = (try await world.connect("a"), try await world.connect("b"))
            let (subject, received, events) = (BusWorld.subject(), Collector<Int>(), Collector<BusEvent>())
            receiver.observe { events.add($0) }
            let gate = DispatchSemaphore(value: 0)
            let subscription = try receiver.subscribe(to: subject) { message in
                if message.number == 0 { gate.wait() }
                received.add(message.number)
            }
            try await receiver.synchronize()
            for number in 0..<1_000 { try sender.publish(number, to: subject) }
            #expect(await events.wait(for: 1).first == .slowConsumer)
            gate.signal()
            let numbers = await received.wait(for: 100)
            #expect(Array(numbers.prefix(100)) == Array(0..<100), "the oldest are kept, in order")
            withExtendedLifetime(subscription) {}
        }
    }
}
