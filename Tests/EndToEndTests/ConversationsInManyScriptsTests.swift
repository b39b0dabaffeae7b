import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The main job on real input.
    @Suite struct ManyScripts {
        @Test func realTextsComeBackIdenticalFromAThirdNodeAndLiveInOrder() async throws {
            let cluster = try await Cluster.shared()
            let texts = try RealTexts.all()
            // Three conversations, each between users on two nodes, read on the third; the two take turns.
            let parts = (0..<3).map { part in texts.indices.filter { $0 % 3 == part }.map { texts[$0] } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (part, texts) in parts.enumerated() {
                    group.addTask { try await Self.converse(texts, cluster: cluster, nodes: (part + 1, part + 2, part + 3)) }
                }
                try await group.waitForAll()
            }
            #expect(try await cluster.conversationsWithHoles() == [])
        }

        private static func converse(_ texts: [String], cluster: Cluster, nodes: (Int, Int, Int)) async throws {
            let alice = try await Person.guest("Алиса", of: cluster, node: nodes.0)
            let bob = try await Person.guest("鲍勃", of: cluster, node: nodes.1)
            let chat = try await alice.chat(with: bob)
            let sockets = [try await Socket.connect(alice), try await Socket.connect(bob)]
            let observer = try await Socket.connect(alice.at(nodes.2))
            // A few sends in flight at a time, then the other's turn.
            for (turn, start) in stride(from: 0, to: texts.count, by: 20).enumerated() {
                let socket = sockets[turn % 2]
                var ids: [String] = []
                for index in start..<min(start + 20, texts.count) {
                    let body: JSON = [
                        "conversationId": .string(chat), "clientId": .string("t\(index)"), "type": "text",
                        "text": .string(texts[index]),
                    ]
                    ids.append(try await socket.begin("send", body))
                }
                for (offset, id) in ids.enumerated() {
                    let answer = try await socket.answer(id, to: "send")
                    guard answer["result"]["message"]["seq"] == .int(start + offset + 1) else {
                        throw Failure("out of order: \(answer)")
                    }
                }
            }
            let expected = texts.map { Array($0.utf8) }
            let history = try await bob.at(nodes.2).history(chat).map { Array(($0["text"].string ?? "").utf8) }
            #expect(history == expected)
            for socket in sockets + [observer] {
                try await eventually("all are there live", within: .seconds(60)) { socket.messages(chat).count >= texts.count }
                #expect(socket.messages(chat).map { Array(($0["text"].string ?? "").utf8) } == expected)
                let seqs = socket.events("message").filter { $0["conversationId"] == .string(chat) }.compactMap { $0["seq"].int }
                #expect(seqs == Array(1...texts.count))
            }
        }
    }
}
