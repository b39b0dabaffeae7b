import MemoryAdapters
import Ports
import RoostModel

@testable import PostgresStore

/// What tests put into a store that has no port, or none yet, to put it there.
struct StoreFixtures: Sendable {
    let addMedia: @Sendable (Media) async throws -> Void
    /// Blocked, by whom.
    let block: @Sendable (UserID, UserID) async throws -> Void

    static func memory(_ database: MemoryDatabase) -> StoreFixtures {
        StoreFixtures(
            addMedia: { database.addMedia($0) }, block: { blocked, blocker in database.setBlocked(blocked, by: blocker) })
    }

    static func postgres(_ pool: PostgresPool) -> StoreFixtures {
        StoreFixtures(
            addMedia: { media in
                let insert = PostgresStatement(
                    "test media",
                    """
                    INSERT INTO media (id, owner_id, state, kind, content_type, bytes)
                    VALUES ($1::text::uuid, $2::text::uuid, $3::bigint, $4::bigint, $5::text, $6::bigint)
                    """)
                _ = try await pool.query(insert) {
                    $0.add(media.id.description)
                    $0.add(media.ownerID.description)
                    $0.add(Int64(Media.State.allCases.firstIndex(of: media.state)!))
                    $0.add(Int64(Media.Kind.allCases.firstIndex(of: media.kind)!))
                    $0.add(media.contentType)
                    $0.add(media.bytes)
                }
            },
            block: { blocked, blocker in
                let insert = PostgresStatement(
                    "test block", "INSERT INTO blocks VALUES ($1::text::uuid, $2::text::uuid, now()) ON CONFLICT DO NOTHING")
                _ = try await pool.query(insert) {
                    $0.add(blocker.description)
                    $0.add(blocked.description)
                }
            })
    }
}

extension StoreWorld {
    func makeMedia(_ kind: Media.Kind = .image, of owner: UserID) async throws -> Media {
        let media = Media(id: .make(), ownerID: owner, state: .ready, kind: kind, contentType: "image/png", bytes: 42)
        try await fixtures.addMedia(media)
        return media
    }

    func makeUsers(_ count: Int) async throws -> [UserID] {
        var ids: [UserID] = []
        for index in 0..<count { ids.append(try await makeUser("User \(index)").id) }
        return ids
    }
}

extension ConversationStore {
    /// Those that are not archived.
    func conversations(
        for user: UserID, cursor: String?, limit: Int, at time: Timestamp
    ) async throws(StoreError) -> Page<ConversationView> {
        try await conversations(for: user, archived: false, cursor: cursor, limit: limit, at: time)
    }
}
