import MemoryAdapters
import Ports
import RoostModel
import Runtime
import TestSupport
import Testing

@testable import Notifications

@Suite struct DrainTests {
    /// Keeps mails, or fails as it is told.
    private final class Transport: MailTransport {
        let mails = Locked<[Mail]>([])
        let faults = Locked<[MailError]>([])
        let attempts = Locked(0)

        func send(_ mail: Mail) async throws(MailError) {
            attempts.withLock { $0 += 1 }
            let fault = faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let fault { throw fault }
            mails.withLock { $0.append(mail) }
        }
    }

    private struct World {
        let database = MemoryDatabase()
        let transport = Transport()
        let clock = ManualClock()
        let metrics = Metrics()
        let lines = Locked<[String]>([])
        let outbox: MemoryMailOutbox
        let drain: MailDrain

        init() {
            outbox = MemoryMailOutbox(database)
            let lines = lines
            drain = MailDrain(
                outbox: outbox, transport: transport, templates: MailTemplates(base: "https://chat.example"), metrics: metrics,
                logger: Logger(label: "mail", level: .debug, output: LogOutput { line in lines.withLock { $0.append(line) } }),
                clock: clock)
        }

        var waiting: Int { get async throws { try await outbox.expire(age: .seconds(1 << 30)).waiting } }
    }

    @Test func aNudgeSendsAtOnce() async throws {
        let world = World()
        try await world.drain.start()
        await world.clock.waitForSleepers()
        for number in 0..<20 {
            try await world.outbox.queue(.resetPassword, to: "bob\(number)@x.example", token: "t\(number)")
            world.drain.nudge()
        }
        try await eventually("all are sent") { try await world.waiting == 0 }
        #expect(world.transport.mails.withLock { $0.map(\.to) } == (0..<20).map { "bob\($0)@x.example" })
        #expect(world.transport.mails.withLock { $0[7].text.contains("https://chat.example/reset-password?token=t7\n") })
        await world.drain.stop()
        let text = world.metrics.render()
        #expect(text.contains("roost_mail_sent_total 20\n") && text.contains("roost_mail_waiting 0\n"))
    }

    @Test func aPollFindsWhatOthersQueued() async throws {
        let world = World()
        try await world.drain.start()
        await world.clock.waitForSleepers()
        try await eventually("the first round is over") { world.lines.withLock { $0.isEmpty } }
        try await world.outbox.queue(.verifyEmail, to: "bob@x.example", token: "t")
        try await eventually("it is sent") {
            world.clock.advance(by: MailDrain.pollInterval)
            return try await world.waiting == 0
        }
        #expect(world.transport.mails.withLock { $0.count } == 1)
        await world.drain.stop()
    }

    @Test func whatFailsIsKeptAndWhatIsRefusedIsNot() async throws {
        let world = World()
        world.transport.faults.withLock { $0 = [.temporary(reason: "busy"), .permanent(reason: "SMTP code 550")] }
        try await world.outbox.queue(.verifyEmail, to: "later@x.example", token: "secret1")
        try await world.outbox.queue(.verifyEmail, to: "never@x.example", token: "secret2")
        try await world.outbox.queue(.verifyEmail, to: "now@x.example", token: "secret3")
        try await world.drain.start()
        try await eventually("two are gone") { try await world.waiting == 1 }
        await world.drain.stop()
        #expect(world.transport.mails.withLock { $0.map(\.to) } == ["now@x.example"])
        // It is not due before its time.
        #expect(try await world.outbox.take(limit: 10, lease: .zero).isEmpty)
        let text = world.metrics.render()
        #expect(text.contains("roost_mail_failed_total 2\n") && text.contains("roost_mail_given_up_total 1\n"))
        let lines = world.lines.withLock { $0.joined() }
        #expect(lines.contains("busy") && lines.contains("550") && !lines.contains("example") && !lines.contains("secret"))
    }

    @Test func aDatabaseThatIsAwayIsWaitedFor() async throws {
        let world = World()
        try await world.outbox.queue(.verifyEmail, to: "bob@x.example", token: "t")
        world.database.setAvailable(false)
        try await world.drain.start()
        try await eventually("it was tried") { world.lines.withLock { !$0.isEmpty } }
        world.database.setAvailable(true)
        world.drain.nudge()
        try await eventually("it is sent") { try await world.waiting == 0 }
        await world.drain.stop()
    }

    @Test func timesBetweenAttemptsDouble() {
        #expect((1...4).map(MailDrain.delay) == [.seconds(10), .seconds(20), .seconds(40), .seconds(80)])
        #expect(MailDrain.delay(afterAttempts: 9) == .seconds(2560) && MailDrain.delay(afterAttempts: 10) == .seconds(3600))
        #expect(MailDrain.delay(afterAttempts: .max) == .seconds(3600) && MailDrain.delay(afterAttempts: 0) == .seconds(10))
    }
}
