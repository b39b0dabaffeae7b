import Foundation
import Runtime
import TestSupport

/// Conversations under a steady load of sends over sockets, each send repeated with its client id until it is acknowledged.
///
/// Unlike `roost-load`, which runs in a process of its own, it says when each conversation took sends again.
final class Load: Sendable {
    struct Pair: Sendable {
        let sender: Person
        let receiver: Person
        let chat: String
    }

    private struct State {
        /// Acknowledged: by conversation, the text of each `seq`.
        var acknowledged: [String: [Int: String]] = [:]
        var lastAcknowledgement: [String: ContinuousClock.Instant] = [:]
        /// The longest time from one acknowledgement to the next.
        var longestPause: [String: Duration] = [:]
        /// Problems answered to sends, by code, and connections that failed.
        var refusals: [String: Int] = [:]
        var doubled: [String] = []
        var isStopped = false
    }

    let pairs: [Pair]
    private let state = Locked(State())

    /// - Parameter pairs: of people spread over the nodes.
    init(pairs count: Int, of cluster: Cluster) async throws {
        var pairs: [Pair] = []
        for number in 0..<count {
            let sender = try await Person.guest("Sender \(number)", of: cluster, node: number)
            let receiver = try await Person.guest("Receiver \(number)", of: cluster, node: number + 1)
            pairs.append(Pair(sender: sender, receiver: receiver, chat: try await sender.chat(with: receiver)))
        }
        self.pairs = pairs
    }

    /// Sends in every conversation, one message after the other with `pause` between, while `body` does its harm; then until every
    /// conversation has taken another one.
    func run(pause: Duration = .milliseconds(100), while body: @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pair in pairs { group.addTask { try await self.keepSending(pair, pause: pause) } }
            do { try await body() } catch {
                state.withLock { $0.isStopped = true }
                throw error
            }
            let now = ContinuousClock.now
            try await eventually("every conversation takes sends again", within: .seconds(30)) {
                self.state.withLock { state in self.pairs.allSatisfy { (state.lastAcknowledgement[$0.chat] ?? now) > now } }
            }
            state.withLock { $0.isStopped = true }
            try await group.waitForAll()
        }
    }

    private func keepSending(_ pair: Pair, pause: Duration) async throws {
        var number = 0
        var node = pair.sender.node
        var socket: Socket?
        while !state.withLock({ $0.isStopped }) {
            number += 1
            let text = "message \(number)"
            // The same client id, until it is acknowledged.
            while true {
                do {
                    if socket == nil || socket?.closeCode != nil {
                        socket = try await Socket.connect(pair.sender.at(node))
                    }
                    guard let socket else { continue }
                    let answer = try await socket.post(text, to: pair.chat, clientID: "c\(number)")
                    if let seq = answer["result"]["message"]["seq"].int {
                        acknowledge(seq, text, in: pair.chat)
                        break
                    }
                    refuse(answer["error"]["code"].string ?? "\(answer)")
                } catch {
                    refuse("connection")
                    socket?.drop()
                    socket = nil
                    node += 1
                }
                if state.withLock({ $0.isStopped }) { return }
                try await Task.sleep(for: .milliseconds(100))
            }
            try await Task.sleep(for: pause)
        }
        socket?.drop()
    }

    private func acknowledge(_ seq: Int, _ text: String, in chat: String) {
        let now = ContinuousClock.now
        state.withLock { state in
            if let other = state.acknowledged[chat, default: [:]].updateValue(text, forKey: seq) {
                state.doubled.append("\(chat) \(seq): \(other), \(text)")
            }
            if let last = state.lastAcknowledgement.updateValue(now, forKey: chat) {
                state.longestPause[chat] = max(state.longestPause[chat] ?? .zero, now - last)
            }
        }
    }

    private func refuse(_ code: String) { state.withLock { $0.refusals[code, default: 0] += 1 } }

    // MARK: Results

    var acknowledgedCount: Int { state.withLock { $0.acknowledged.values.reduce(0) { $0 + $1.count } } }
    var refusals: [String: Int] { state.withLock { $0.refusals } }

    /// Each conversation's longest time between two acknowledgements, shortest first.
    var pauses: [Duration] { state.withLock { $0.longestPause.values.sorted() } }

    /// Everything that is not as it must be, from comparing what was acknowledged with what is stored: acknowledged and not stored
    /// as it was, stored twice, a hole in a counter.
    func faults() async throws -> [String] {
        var faults = state.withLock { $0.doubled.map { "one seq for two messages: \($0)" } }
        for pair in pairs {
            let history = try await pair.receiver.at(pair.receiver.node + 1).history(pair.chat)
            let stored = Dictionary(history.map { ($0["seq"].int ?? 0, $0["text"].string ?? "") }) { $1 }
            for (seq, text) in state.withLock({ $0.acknowledged[pair.chat] ?? [:] }) where stored[seq] != text {
                faults.append("\(pair.chat) \(seq) was acknowledged as \(text), and is \(stored[seq] ?? "lost")")
            }
            if Set(stored.values).count != history.count { faults.append("\(pair.chat): a message is stored twice") }
            if history.compactMap({ $0["seq"].int }) != Array(1...max(1, history.count)) {
                faults.append("\(pair.chat): not dense")
            }
        }
        return faults
    }
}
