import CNATS
import EventLoop
import Glibc
import LoadCore
import Runtime
import Synchronization

/// Messages of 128 bytes from one connection to another through the server.
final class NATSFloor {
    private let url: String
    private let publisher: OpaquePointer
    private let subscriber: OpaquePointer

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let subject = "roost.bench.floor"
    private static let bytes = 128

    init(url: String) throws {
        self.url = url
        publisher = try Self.connect(url, sendAsap: false)
        subscriber = try Self.connect(url, sendAsap: false)
    }

    deinit {
        natsConnection_Destroy(publisher)
        natsConnection_Destroy(subscriber)
    }

    /// Messages a second, from the first published to the last delivered. No more than 100,000 are ever under way.
    func throughput(seconds: Double) throws -> Double {
        let counter = Receiver()
        let subscription = try subscribe(counter)
        defer { natsSubscription_Destroy(subscription) }
        let start = MonotonicTime.now
        let deadline = start + .nanoseconds(Int64(seconds * 1e9))
        let payload = [UInt8](repeating: 0, count: Self.bytes)
        var sent = 0
        while MonotonicTime.now < deadline {
            for _ in 0..<1000 { try publish(payload) }
            sent += 1000
            while sent - counter.count.load(ordering: .relaxed) > 100_000 { usleep(200) }
        }
        try Self.check(natsConnection_Flush(publisher))
        let patience = MonotonicTime.now + .seconds(10)
        while counter.count.load(ordering: .relaxed) < sent {
            guard MonotonicTime.now < patience else { throw Fault(description: "NATS lost messages") }
            usleep(200)
        }
        return Double(sent) * 1e9 / Double((MonotonicTime.now - start).nanoseconds)
    }

    /// Latency at a fixed rate, from the scheduled time to the callback.
    func paced(rate: Double, seconds: Double) throws -> LatencyHistogram {
        let asap = try Self.connect(url, sendAsap: true)
        defer { natsConnection_Destroy(asap) }
        let receiver = Receiver()
        let subscription = try subscribe(receiver)
        defer { natsSubscription_Destroy(subscription) }
        let start = MonotonicTime.now
        var schedule = SendSchedule(
            start: start.nanoseconds, rate: rate, end: start.nanoseconds + Int64(seconds * 1e9))
        var payload = [UInt8](repeating: 0, count: Self.bytes)
        var sent = 0
        while let next = schedule.next {
            let wait = next - MonotonicTime.now.nanoseconds
            if wait > 0 {
                var pause = timespec(tv_sec: Int(wait / 1_000_000_000), tv_nsec: Int(wait % 1_000_000_000))
                nanosleep(&pause, nil)
            }
            while let due = schedule.take(at: MonotonicTime.now.nanoseconds) {
                withUnsafeBytes(of: due.time) { time in for index in 0..<8 { payload[index] = time[index] } }
                try Self.check(natsConnection_Publish(asap, Self.subject, payload, Int32(payload.count)))
                sent += 1
            }
        }
        try Self.check(natsConnection_Flush(asap))
        let patience = MonotonicTime.now + .seconds(10)
        while receiver.count.load(ordering: .relaxed) < sent {
            guard MonotonicTime.now < patience else { throw Fault(description: "NATS lost messages") }
            usleep(1000)
        }
        return receiver.latencies.withLock { $0 }
    }

    private func publish(_ payload: [UInt8]) throws {
        try Self.check(natsConnection_Publish(publisher, Self.subject, payload, Int32(payload.count)))
    }

    /// Lives as long as the subscription; told of messages on a thread of libnats.
    private final class Receiver: Sendable {
        let count = Atomic<Int>(0)
        let latencies = Locked(LatencyHistogram())
    }

    private func subscribe(_ receiver: Receiver) throws -> OpaquePointer? {
        var subscription: OpaquePointer?
        // Kept for the rest of the process: libnats may be in a callback for a moment after the end.
        let context = Unmanaged.passRetained(receiver).toOpaque()
        try Self.check(
            natsConnection_Subscribe(
                &subscription, subscriber, Self.subject,
                { _, _, message, context in
                    let receiver = Unmanaged<Receiver>.fromOpaque(context!).takeUnretainedValue()
                    var scheduled: Int64 = 0
                    if natsMsg_GetDataLength(message) >= 8 { memcpy(&scheduled, natsMsg_GetData(message), 8) }
                    if scheduled > 0 {
                        let latency = (MonotonicTime.now.nanoseconds - scheduled) / 1000
                        receiver.latencies.withLock { $0.record(latency) }
                    }
                    receiver.count.add(1, ordering: .relaxed)
                    natsMsg_Destroy(message)
                }, context))
        natsSubscription_SetPendingLimits(subscription, -1, -1)
        try Self.check(natsConnection_Flush(subscriber))
        return subscription
    }

    private static func connect(_ url: String, sendAsap: Bool) throws -> OpaquePointer {
        var options: OpaquePointer?
        try check(natsOptions_Create(&options))
        defer { natsOptions_Destroy(options) }
        try check(natsOptions_SetURL(options, url))
        try check(natsOptions_SetSendAsap(options, sendAsap))
        var connection: OpaquePointer?
        try check(natsConnection_Connect(&connection, options))
        return connection!
    }

    private static func check(_ status: natsStatus) throws {
        guard status == NATS_OK else { throw Fault(description: "NATS: \(String(cString: natsStatus_GetText(status)))") }
    }
}
