import Ports
import RoostModel
import Testing

/// What every ``OperatorStore`` and ``DeletionStore`` keeps.
@Suite struct OperatorStoreContract {
    @Test(arguments: StoreKind.allCases) func accountsAreFound(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let bob = try await world.makeUser("Bob Ångström", email: "bob@x.example")
        let guest = try await world.makeUser("Guest Angela", email: nil)
        let carol = try await world.makeUser("Carol", email: "bobby@x.example")
        func find(_ query: String?, limit: Int = 1) async throws -> [UserID] {
            var (found, cursor): ([UserID], String?) = ([], nil)
            repeat {
                let page = try await world.operators.accounts(query: query, cursor: cursor, limit: limit)
                found += page.items.map(\.user.id)
                cursor = page.nextCursor
            } while cursor != nil
            return found
        }
        let newestFirst = [bob.id, guest.id, carol.id].sorted(by: >)
        #expect(try await find(nil) == newestFirst)
        #expect(try await find(nil, limit: 3) == newestFirst)
        #expect(try await find("BOB") == [bob.id, carol.id].sorted(by: >))
        #expect(try await find("bobby@x") == [carol.id])
        #expect(try await find("ang") == [bob.id, guest.id].sorted(by: >))
        #expect(try await find(guest.id.description) == [guest.id])
        #expect(try await find("%").isEmpty)
        #expect(try await find("_").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func suspensionShutsOut(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let user = try await world.makeUser(email: "bob@x.example")
        let (refresh, link) = (TokenHash.random(), MailToken.test())
        _ = try await world.accounts.createDevice(world.newDevice(of: user.id, token: refresh), checkedHash: "hash")
        try await world.accounts.requestPasswordReset(forEmail: "bob@x.example", token: link)
        func act(_ act: Moderation, on subject: UserID) async throws -> [DeviceID]? {
            try await world.operators.moderate(subject, act, by: "alice", at: .now, claim: .zero)
        }
        #expect(try await act(.suspend, on: user.id)?.count == 2)
        #expect(try await act(.suspend, on: user.id)?.isEmpty == true)
        #expect(try await world.accounts.credentials(forEmail: "bob@x.example")?.isSuspended == true)
        #expect(try await !world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "hash"))
        let outcome = try await world.accounts.rotateRefreshToken(
            spent: refresh, successor: .random(), at: .now, expiresAt: .now + .seconds(60), grace: .seconds(10))
        #expect(outcome.isUnknown)
        #expect(try await !world.accounts.isResetToken(link.hash, at: .now))
        let later = MailToken.test()
        try await world.accounts.requestPasswordReset(forEmail: "bob@x.example", token: later)
        #expect(try await !world.accounts.isResetToken(later.hash, at: .now))
        #expect(try await world.operators.accounts(query: nil, cursor: nil, limit: 1).items[0].suspendedAt != nil)
        #expect(try await act(.unsuspend, on: user.id) == [])
        #expect(try await world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "hash"))
        #expect(try await act(.logout, on: user.id)?.count == 1)
        #expect(try await act(.export, on: user.id) == [])
        #expect(try await act(.logout, on: .make()) == nil)
        try await world.operators.note("nodes.drain", subject: "node1", by: "bob", at: .now)
        let newest = try await world.operators.audit(cursor: nil, limit: 2)
        #expect(newest.items.map(\.action) == ["nodes.drain", "user.export"])
        #expect(newest.items.map(\.name) == ["bob", "alice"])
        let rest = try await world.operators.audit(cursor: newest.nextCursor, limit: 10)
        #expect(rest.items.map(\.action) == ["user.logout", "user.unsuspend", "user.suspend", "user.suspend"])
        #expect(rest.items.allSatisfy { $0.subject == user.id.description } && rest.nextCursor == nil)
    }

    @Test(arguments: StoreKind.allCases) func aDeletedAccountKeepsItsIDOnly(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let user = try await world.makeUser("Bob", email: "bob@x.example")
        let other = try await world.makeUser("Eve")
        var change = ProfileChange()
        (change.firstName, change.phone, change.about) = (.some("Bob"), .some("123"), .some("text"))
        _ = try await world.accounts.updateUser(user.id, change)
        let (refresh, link) = (TokenHash.random(), MailToken.test())
        _ = try await world.accounts.createDevice(world.newDevice(of: user.id, token: refresh), checkedHash: "hash")
        try await world.accounts.requestPasswordReset(forEmail: "bob@x.example", token: link)
        for (owner, contact) in [(user.id, other.id), (other.id, user.id)] {
            _ = try await world.contacts.addContact(
                NewContact(owner: owner, user: contact, isByEmail: true, nickname: "N", createdAt: .now))
            try await world.contacts.block(contact, by: owner, at: .now)
        }
        let chat = try await world.openDirect(user.id, other.id)
        let lane = try await world.makeLane()
        _ = try await lane.commit(.position(user.id, in: chat, read: 0, delivered: 0))

        #expect(try await world.deletions.eraseAccount(user.id, at: .now, claim: .seconds(60))?.count == 2)
        #expect(try await world.deletions.eraseAccount(user.id, at: .now, claim: .seconds(60)) == nil)
        let erased = try #require(try await world.accounts.user(user.id))
        #expect(erased.isDeleted && !erased.isAnonymous && erased.displayName == "Deleted account")
        #expect(erased.email == nil && erased.firstName == nil && erased.phone == nil && erased.about == nil)
        #expect(try await world.accounts.credentials(forEmail: "bob@x.example") == nil)
        #expect(try await world.accounts.passwordHash(of: user.id) == nil)
        #expect(try await world.accounts.devices(of: user.id).isEmpty)
        #expect(try await world.accounts.updateUser(user.id, change) == nil)
        #expect(try await !world.accounts.isResetToken(link.hash, at: .now))
        try await world.accounts.recordLastSeen([user.id: .now])
        #expect(try await world.accounts.lastSeen([user.id]).isEmpty)
        #expect(try await world.contacts.contacts(of: other.id, cursor: nil, limit: 10).items.isEmpty)
        #expect(try await world.contacts.contacts(of: user.id, cursor: nil, limit: 10).items.isEmpty)
        #expect(try await world.contacts.blocked([other.id], with: user.id).isEmpty)
        try await world.contacts.block(user.id, by: other.id, at: .now)
        #expect(try await world.contacts.blocked([other.id], with: user.id).isEmpty, "nothing comes after")
        let late = NewContact(owner: other.id, user: user.id, isByEmail: false, nickname: nil, createdAt: .now)
        #expect(try await world.contacts.addContact(late) == nil)
        #expect(try await world.operators.accounts(query: "bob", cursor: nil, limit: 10).items.isEmpty)
        // The email is free.
        _ = try await world.makeUser("Bob the second", email: "bob@x.example")

        #expect(try await world.deletions.claimDeletion(for: .seconds(60)) == nil, "it is somebody's")
        try await world.deletions.extendClaim(of: user.id, by: .zero)
        #expect(try await world.deletions.claimDeletion(for: .seconds(60)) == user.id)
        #expect(try await world.deletions.claimDeletion(for: .seconds(60)) == nil)
        #expect(try await world.deletions.closeDirect(chat))
        #expect(try await !world.deletions.closeDirect(chat))
        try await world.deletions.eraseTraces(of: user.id, in: chat)
        #expect(try await lane.load([chat])[chat]?.isReadOnly == true)
        try await world.deletions.finishDeletion(of: user.id)
        try await world.deletions.extendClaim(of: user.id, by: .zero)
        #expect(try await world.deletions.claimDeletion(for: .seconds(60)) == nil)
        try await world.deletions.purgeMailTokens(at: .now)
    }
}
