import EventLoop
import RoostModel
import RoostProtocol
import Runtime

/// One user sends numbered texts to another for as long as the test wants, some on their way at any time. Since nobody else writes,
/// the counter of each must be its number: nothing is lost, doubled or out of order.
final class NumberedTraffic: Sendable {
    static let window = 4

    let chat: ConversationID
    private let sender: TestSocket
    private let receiver: TestSocket
    private let isStopped = Locked(false)

    struct Outcome: Sendable {
        var sent = 0
        /// The longest time without an acknowledgement.
        var longestGap = Duration.zero
    }

    init(_ cluster: TestCluster, sender: Int, receiver: Int) async throws {
        let (ann, bob, chat) = try await cluster.pair()
        self.chat = chat
        self.sender = try await cluster.session(ann, at: sender)
        self.receiver = try await cluster.session(bob, at: receiver)
    }

    func stop() { isStopped.withLock { $0 = true } }

    /// Until ``stop()``, and until the last text has arrived.
    func run() async throws -> Outcome {
        async let received = receive()
        let outcome = try await send()
        let count = try await received
        guard count == outcome.sent else { throw Unexpected("\(count) of \(outcome.sent) texts arrived") }
        return outcome
    }

    private func send() async throws -> Outcome {
        var outcome = Outcome()
        var answered = 0
        var last = MonotonicTime.now
        var isLast = false
        while !isLast || answered < outcome.sent {
            while !isLast, outcome.sent - answered < Self.window {
                isLast = isStopped.withLock { $0 }
                outcome.sent += 1
                let text = isLast ? "the end" : "\(outcome.sent)"
                await sender.send(
                    .send(conversationID: chat, SendBody(clientID: "\(outcome.sent)", text: text)), id: outcome.sent)
            }
            let (id, message): (Int, Message) = try await sender.first { frame in
                guard case .answer(let id, let result) = frame, let id else { return nil }
                guard let number = (1...outcome.sent).last(where: { FrameID($0) == id }) else { return nil }
                return (number, try result.get().message())
            }
            answered += 1
            guard id == answered, message.seq == Seq(Int64(answered)) else {
                throw Unexpected("text \(id) as number \(message.seq) of \(answered)")
            }
            let now = MonotonicTime.now
            outcome.longestGap = max(outcome.longestGap, now - last)
            last = now
        }
        return outcome
    }

    private func receive() async throws -> Int {
        var count = 0
        while true {
            let (seq, message): (Seq, Message?) = try await receiver.first { frame in
                guard case .message(_, let seq, let message) = frame else { return nil }
                return (seq, message)
            }
            count += 1
            guard seq == Seq(Int64(count)) else { throw Unexpected("event \(seq) as number \(count)") }
            if message?.text == "the end" { return count }
            guard message?.text == "\(count)" else { throw Unexpected("text \(message?.text ?? "-") as number \(count)") }
        }
    }
}

/// Runs traffic while `body` moves things about, and checks it.
func withTraffic(
    _ cluster: TestCluster, _ count: Int, at nodes: [Int], _ body: ([NumberedTraffic]) async throws -> Void
) async throws -> [NumberedTraffic.Outcome] {
    var traffic: [NumberedTraffic] = []
    for index in 0..<count {
        traffic.append(
            try await NumberedTraffic(
                cluster, sender: nodes[index % nodes.count], receiver: nodes[(index + 1) % nodes.count]))
    }
    return try await withThrowingTaskGroup(of: NumberedTraffic.Outcome.self) { [traffic] group in
        for item in traffic { group.addTask { try await item.run() } }
        do {
            try await body(traffic)
        } catch {
            group.cancelAll()
            throw error
        }
        for item in traffic { item.stop() }
        var outcomes: [NumberedTraffic.Outcome] = []
        for try await outcome in group { outcomes.append(outcome) }
        return outcomes
    }
}
