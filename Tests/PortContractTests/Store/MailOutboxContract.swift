import Ports
import RoostModel
import Testing

/// What every ``MailOutbox`` keeps.
@Suite struct MailOutboxContract {
    @Test(arguments: StoreKind.allCases) func aMailIsTakenByOneAndRemoved(_ kind: StoreKind) async throws {
        let mail = try await StoreWorld.fresh(kind).mail
        #expect(try await mail.take(limit: 10, lease: .seconds(600)).isEmpty)
        try await mail.queue(.verifyEmail, to: "a@x.example", token: "one")
        try await mail.queue(.resetPassword, to: "b@x.example", token: "two")
        let taken = try await mail.take(limit: 10, lease: .seconds(600))
        #expect(taken.map(\.recipient) == ["a@x.example", "b@x.example"] && taken.map(\.token) == ["one", "two"])
        #expect(taken.map(\.kind) == [.verifyEmail, .resetPassword] && taken.map(\.attempts) == [1, 1])
        #expect(try await mail.take(limit: 10, lease: .seconds(600)).isEmpty)
        #expect(try await mail.expire(age: .seconds(3600)) == (0, 2))
        for mailed in taken { try await mail.remove(mailed.id) }
        try await mail.remove(taken[0].id)
        #expect(try await mail.expire(age: .seconds(3600)) == (0, 0))
    }

    @Test(arguments: StoreKind.allCases) func whatFailedIsTakenAgain(_ kind: StoreKind) async throws {
        let mail = try await StoreWorld.fresh(kind).mail
        try await mail.queue(.verifyEmail, to: "a@x.example", token: "one")
        // A lease that is over: its taker has died.
        let first = try #require(try await mail.take(limit: 1, lease: .zero).first)
        let second = try #require(try await mail.take(limit: 1, lease: .seconds(600)).first)
        #expect(second.id == first.id && second.attempts == 2)
        try await mail.postpone(second.id, by: .zero)
        #expect(try await mail.take(limit: 1, lease: .seconds(600)).first?.attempts == 3)
        try await mail.postpone(second.id, by: .seconds(600))
        #expect(try await mail.take(limit: 1, lease: .zero).isEmpty)
        try await mail.postpone(first.id + 1, by: .zero)
        #expect(try await mail.expire(age: .zero) == (1, 0))
        try await mail.postpone(first.id, by: .zero)
        #expect(try await mail.take(limit: 1, lease: .zero).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func manyTakersShare(_ kind: StoreKind) async throws {
        let mail = try await StoreWorld.fresh(kind).mail
        for number in 0..<40 { try await mail.queue(.verifyEmail, to: "a@x.example", token: "\(number)") }
        let tokens = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var tokens: [String] = []
                    for _ in 0..<40 { tokens += try await mail.take(limit: 3, lease: .seconds(600)).map(\.token) }
                    return tokens
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(tokens.count == 40 && Set(tokens).count == 40)
        #expect(try await mail.expire(age: .seconds(600)).waiting == 40)
    }
}
