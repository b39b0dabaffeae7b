import Ports
import RoostModel
import TestSupport
import Testing

@testable import PostgresStore

/// Each kind of damage is put in, found, mended where that is certain, and then all is well.
@Suite struct IntegrityTests {
    /// `{g}` a group, `{h}` another of one member, `{d}` a direct conversation of `{a}` and `{b}`; `{u}` and `{v}` members of the group, the
    /// first its admin; `{x}` an id that nothing has, and `{s}` its shard.
    struct Damage: Sendable {
        let codes: [String]
        /// Of `codes`, those that cannot be repaired.
        var lasting: [String] = []
        let statements: [String]
        /// What makes the rest good.
        var undo: [String] = []
    }

    static let damages = [
        Damage(codes: ["counterBehind"], statements: ["UPDATE conversations SET last_seq = 6 WHERE id = '{g}'"]),
        Damage(
            codes: ["counterAhead", "changeMissing"], lasting: ["counterAhead", "changeMissing"],
            statements: ["UPDATE conversations SET last_seq = 12 WHERE id = '{g}'"],
            undo: ["UPDATE conversations SET last_seq = 10 WHERE id = '{g}'"]),
        Damage(codes: ["memberCount"], statements: ["UPDATE conversations SET member_count = 7 WHERE id = '{g}'"]),
        Damage(
            codes: ["directMembers"], lasting: ["directMembers"],
            statements: ["UPDATE members SET user_id = '{v}' WHERE conversation_id = '{d}' AND user_id = '{a}'"],
            undo: ["UPDATE members SET user_id = '{a}' WHERE conversation_id = '{d}' AND user_id = '{v}'"]),
        Damage(
            codes: ["directMembers", "directTwice"], lasting: ["directMembers", "directTwice"],
            statements: [
                "DROP INDEX conversations_direct",
                """
                INSERT INTO conversations (id, kind, shard, direct_low, direct_high, last_activity_at, created_at)
                SELECT '{x}', 0, {s}, direct_low, direct_high, now(), now() FROM conversations WHERE id = '{d}'
                """,
            ],
            undo: [
                "DELETE FROM conversations WHERE id = '{x}'",
                "CREATE UNIQUE INDEX conversations_direct ON conversations (direct_low, direct_high) WHERE direct_low IS NOT NULL",
            ]),
        Damage(
            codes: ["memberCount", "nobodyThere"], lasting: ["nobodyThere"],
            statements: ["DELETE FROM members WHERE conversation_id = '{h}'"],
            undo: [
                "INSERT INTO members (conversation_id, user_id, role, joined_at) VALUES ('{h}', '{u}', 0, now())",
                "UPDATE conversations SET member_count = 1 WHERE id = '{h}'",
            ]),
        Damage(
            codes: ["noAdmin"], lasting: ["noAdmin"], statements: ["UPDATE members SET role = 1 WHERE conversation_id = '{g}'"],
            undo: ["UPDATE members SET role = 0 WHERE conversation_id = '{g}' AND user_id = '{u}'"]),
        Damage(
            codes: ["positionBeyond"],
            statements: ["UPDATE members SET read_seq = 50, delivered_seq = 3 WHERE conversation_id = '{g}' AND user_id = '{u}'"]),
        Damage(
            codes: ["positionBeyond"], statements: ["UPDATE members SET read_seq = -1 WHERE conversation_id = '{d}'"]),
        Damage(
            codes: ["departedMember"],
            statements: ["INSERT INTO departures (user_id, conversation_id) VALUES ('{u}', '{g}')"]),
        Damage(codes: ["searchableBeyond"], statements: ["UPDATE conversations SET searchable_seq = 99 WHERE id = '{g}'"]),
        Damage(
            codes: ["staleMark"],
            statements: [
                "UPDATE conversations SET is_active = true, last_seq = 2 WHERE id = '{g}'",
                "UPDATE messages SET created_at = created_at - interval '2 hours' WHERE conversation_id = '{g}'",
            ]),
        Damage(
            codes: ["photoMissing"], lasting: ["photoMissing"],
            statements: ["UPDATE conversations SET photo_media_id = '{x}' WHERE id = '{g}'"],
            undo: ["UPDATE conversations SET photo_media_id = NULL WHERE id = '{g}'"]),
        Damage(
            codes: ["valueMissing"], lasting: ["valueMissing"],
            statements: ["DELETE FROM messages WHERE conversation_id = '{g}' AND seq = 9"],
            undo: [
                """
                INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, kind, client_id, text)
                VALUES ('{g}', '{u}', 9, 9, now(), 0, 'again', 'again')
                """
            ]),
        Damage(
            codes: ["valueTwice"], lasting: ["valueTwice"],
            statements: ["UPDATE messages SET change_seq = 10 WHERE conversation_id = '{g}' AND seq = 3"],
            undo: ["UPDATE messages SET change_seq = 6 WHERE conversation_id = '{g}' AND seq = 3"]),
        Damage(
            codes: ["valueMissing", "valueWrong"], lasting: ["valueMissing", "valueWrong"],
            statements: ["UPDATE messages SET change_seq = 1 WHERE conversation_id = '{g}' AND seq = 3"],
            undo: ["UPDATE messages SET change_seq = 6 WHERE conversation_id = '{g}' AND seq = 3"]),
        Damage(
            codes: ["deletedContent"],
            statements: ["UPDATE messages SET text = 'secret', reply_to = 2 WHERE conversation_id = '{g}' AND seq = 7"]),
        Damage(
            codes: ["orphanMessage"], lasting: ["orphanMessage"],
            statements: [
                """
                INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, kind, text)
                VALUES ('{x}', '{u}', 1, 1, now(), 0, 'hi')
                """
            ],
            undo: ["DELETE FROM messages WHERE conversation_id = '{x}'"]),
        Damage(
            codes: ["senderUnknown"], lasting: ["senderUnknown"],
            statements: ["UPDATE messages SET sender_id = '{x}' WHERE conversation_id = '{g}' AND seq = 9"],
            undo: ["UPDATE messages SET sender_id = '{u}' WHERE conversation_id = '{g}' AND seq = 9"]),
        Damage(
            codes: ["mediaMissing"], lasting: ["mediaMissing"],
            statements: ["UPDATE messages SET media_id = '{x}' WHERE conversation_id = '{g}' AND seq = 9"],
            undo: ["UPDATE messages SET media_id = NULL WHERE conversation_id = '{g}' AND seq = 9"]),
        Damage(
            codes: ["orphanMember"],
            statements: ["INSERT INTO members (conversation_id, user_id, role, joined_at) VALUES ('{x}', '{u}', 1, now())"]),
        // Who never was a user counts no more either.
        Damage(
            codes: ["orphanMember", "memberCount"],
            statements: [
                "INSERT INTO members (conversation_id, user_id, role, joined_at) VALUES ('{g}', '{x}', 1, now())",
                "UPDATE conversations SET member_count = 9 WHERE id = '{g}'",
            ]),
        Damage(codes: ["orphanPosition"], statements: ["INSERT INTO positions VALUES ('{x}', '{u}', 1, 1, now())"]),
        Damage(
            codes: ["orphanReaction"],
            statements: [
                "INSERT INTO reactions VALUES ('{g}', 7, 'x', '{u}', now()), ('{g}', 99, 'x', '{u}', now()), ('{g}', 3, 'x', '{x}', now())"
            ]),
        Damage(codes: ["orphanMention"], statements: ["INSERT INTO mentions VALUES ('{g}', '{u}', 99)"]),
        Damage(
            codes: ["orphanHidden"], statements: ["INSERT INTO hidden (conversation_id, user_id, seq) VALUES ('{g}', '{u}', 99)"]),
        Damage(codes: ["orphanWords"], statements: ["INSERT INTO message_words VALUES ('{g}', 7, now(), 'a')"]),
        Damage(codes: ["orphanTitle"], statements: ["INSERT INTO channel_words VALUES ('a', '{x}')"]),
        Damage(codes: ["shardWrong"], statements: ["UPDATE conversations SET shard = (shard + 1) % 1024 WHERE id = '{g}'"]),
        Damage(
            codes: ["shardWrong"],
            statements: [
                "UPDATE cluster_nodes SET name = 'known' WHERE incarnation = (SELECT incarnation FROM cluster_nodes LIMIT 1)",
                "INSERT INTO actor_pins VALUES (0, '{x}', ({s} + 1) % 1024, 'known', NULL, 0, false, NULL, now(), NULL)",
            ]),
        Damage(
            codes: ["mailOld"],
            statements: [
                "INSERT INTO mail_outbox (recipient, kind, token, created_at) VALUES ('a', 1, 't', now() - interval '2 days')"
            ]),
        Damage(
            codes: ["mailOverdue"], lasting: ["mailOverdue"],
            statements: [
                """
                INSERT INTO mail_outbox (recipient, kind, token, next_attempt_at, created_at)
                VALUES ('a', 1, 't', now() - interval '2 hours', now() - interval '3 hours')
                """
            ],
            undo: ["DELETE FROM mail_outbox"]),
        Damage(
            codes: ["deletionOverdue", "deletionWithoutAccount"], lasting: ["deletionOverdue", "deletionWithoutAccount"],
            statements: ["INSERT INTO user_deletions VALUES ('{u}', now(), now() - interval '2 hours')"],
            undo: ["DELETE FROM user_deletions"]),
        Damage(
            codes: ["operationUnattended"], lasting: ["operationUnattended"],
            statements: [
                """
                INSERT INTO operations (id, kind, state, started_at, started_by)
                VALUES ('{x}', 'rebalance', 'running', now() - interval '1 hour', 'x')
                """
            ],
            undo: ["DELETE FROM operations"]),
        Damage(
            codes: ["nodeSilent"], lasting: ["nodeSilent"],
            statements: ["UPDATE cluster_nodes SET lease_until = now() - interval '2 minutes'"],
            undo: ["UPDATE cluster_nodes SET lease_until = now() + interval '50 minutes'"]),
        Damage(codes: ["shardMissing"], statements: ["DELETE FROM shards WHERE number = 7"]),
    ]

    /// In parts so small that everything lies across a border.
    @Test func whateverIsDamagedIsFoundAndMended() async throws {
        let base = try await Base()
        let (world, session) = (base.world, try await base.session())
        let (group, users) = try await Chat.group(world, members: 3)
        let second = try await group.send("hello", from: users[0], mentions: [users[1]])
        let third = try await group.send("there", from: users[1], replyTo: second)
        // The value of the first edit is forgotten with the second.
        try await group.edit(second, "hello!")
        try await group.edit(second, "hello.")
        try await group.react(third, "👍", by: users[2])
        let deleted = try await group.send("oops", from: users[0])
        try await group.delete(deleted)
        try await group.send("nine", from: users[0])
        try await group.send("ten", from: users[1])
        try await group.hide(third, by: users[2])
        try await group.move(users[1], read: 5)
        let (direct, a, b) = try await Chat.direct(world)
        for number in 0..<5 { try await direct.send("\(number)", from: number % 2 == 0 ? a : b) }
        let (small, _) = try await Chat.group(world, members: 1)
        let (channel, people) = try await Chat.group(world, members: 2, kind: .channel, title: "Some channel")
        try await channel.send("gone", from: people[1])
        try await channel.deleteAll()
        for chat in [group, direct] {
            try await chat.lane.settle(
                SettleEntry(conversationID: chat.id, head: try await chat.head(), lastActivityAt: .now))
        }
        try await session.run("UPDATE cluster_nodes SET lease_until = now() + interval '50 minutes'")

        let store = PostgresIntegrityStore(pool: base.pool, conversationsAtOnce: 2, messagesAtOnce: 3)
        let whole = try await store.check(repair: false)
        #expect(whole.isClean, "\(whole.findings)")
        // The group's 6, the direct one's 5, the other group's 1, the channel's 2 and what stands behind them.
        #expect(whole.conversations == 3 && whole.messages == 15, "\(whole)")

        for damage in Self.damages {
            let unknown = ConversationID.make()
            func run(_ statements: [String]) async throws {
                for statement in statements {
                    var text = statement
                    let names = [
                        "{g}": "\(group.id)", "{h}": "\(small.id)", "{d}": "\(direct.id)", "{a}": "\(a)", "{b}": "\(b)",
                        "{u}": "\(users[0])", "{v}": "\(users[2])", "{x}": "\(unknown)", "{s}": "\(ShardID(of: unknown).number)",
                    ]
                    for (name, value) in names { text = text.replacing(name, with: value) }
                    try await session.run(text)
                }
            }
            try await run(damage.statements)
            let found = try await store.check(repair: false)
            #expect(Set(found.findings.map(\.code)) == Set(damage.codes), "\(damage.codes): \(found.findings)")
            #expect(found.findings.allSatisfy { $0.repaired == 0 && !$0.subjects.isEmpty && $0.count > 0 })
            let mended = try await store.check(repair: true)
            #expect(Set(mended.findings.map(\.code)) == Set(damage.codes), "\(damage.codes): \(mended.findings)")
            for finding in mended.findings {
                #expect(finding.isRepaired != damage.lasting.contains(finding.code), "\(finding)")
                #expect(damage.lasting.contains(finding.code) || finding.repaired == finding.count)
            }
            try await run(damage.undo)
            let after = try await store.check(repair: false)
            #expect(after.isClean, "after \(damage.codes): \(after.findings)")
            #expect(after.messages == 15, "after \(damage.codes)")
        }
        // The messages are those that were there.
        #expect(try await store.check(repair: false).messages == 15)
        #expect(try await group.head() == Seq(10))
        let seen = try #require(try await group.store.history(of: group.id, for: users[1], range: .newest, limit: 50))
        #expect(seen.items.count == 6)
    }

    @Test func everyKindIsTried() {
        let tried = Set(Self.damages.flatMap(\.codes))
        let untried = PostgresIntegrityStore.kinds.map(\.code).filter { !tried.contains($0) }
        #expect(untried == [])
        #expect(Set(PostgresIntegrityStore.kinds.map(\.code)).count == PostgresIntegrityStore.kinds.count)
    }
}
