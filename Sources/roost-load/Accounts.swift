import LoadCore
import RoostModel
import RoostProtocol

/// Anonymous accounts and direct chats for a run, made over HTTP, so many at once.
struct Accounts: Sendable {
    let api: NodeAPI
    let atOnce: Int

    /// `count` guests, made on all nodes in turn.
    func makeGuests(_ count: Int, named name: String) async throws -> [AuthSession] {
        try await map(count) { index in
            try await api.makeGuest("\(name) \(index)", node: index % api.targets.count)
        }
    }

    /// A chat for each pair of guests.
    func makeChats(_ count: Int, named name: String) async throws -> [PairsRun.Chat] {
        let guests = try await makeGuests(count * 2, named: name)
        return try await map(count) { pair in
            let (first, second) = (guests[pair * 2], guests[pair * 2 + 1])
            let id = try await api.openDirect(with: second.user.id, token: first.accessToken, node: pair % api.targets.count)
            return PairsRun.Chat(conversation: id, sessions: [first, second])
        }
    }

    private func map<Value: Sendable>(
        _ count: Int, _ make: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            var values = [Value?](repeating: nil, count: count)
            for index in 0..<count {
                if index >= atOnce, let (done, value) = try await group.next() { values[done] = value }
                group.addTask { (index, try await make(index)) }
            }
            for try await (done, value) in group { values[done] = value }
            return values.compactMap { $0 }
        }
    }
}
