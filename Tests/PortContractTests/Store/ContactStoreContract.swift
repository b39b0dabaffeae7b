import Ports
import RoostModel
import Testing

/// What every ``ContactStore`` keeps.
@Suite struct ContactStoreContract {
    @Test(arguments: StoreKind.allCases) func contactsAreKeptOnce(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (owner, bob) = (try await world.makeUser(), try await world.makeUser("Bob"))
        func new(_ user: UserID, byEmail: Bool = false, nickname: String? = nil) -> NewContact {
            NewContact(owner: owner.id, user: user, isByEmail: byEmail, nickname: nickname, createdAt: .now)
        }
        let added = try #require(try await world.contacts.addContact(new(bob.id, byEmail: true, nickname: "B")))
        #expect(added.user == bob && added.email == bob.email && added.nickname == "B")
        #expect(await storeErrorCode { _ = try await world.contacts.addContact(new(bob.id)) } == .conflict)
        #expect(try await world.contacts.addContact(new(.make())) == nil)
        let all = try await world.contacts.contacts(of: owner.id, cursor: nil, limit: 10)
        #expect(all.items == [added] && all.nextCursor == nil)
        #expect(try await world.contacts.contacts(of: bob.id, cursor: nil, limit: 10).items.isEmpty)
        var change = ContactChange()
        #expect(try await world.contacts.changeContact(bob.id, of: owner.id, change) == added)
        change.nickname = .some(nil)
        #expect(try await world.contacts.changeContact(bob.id, of: owner.id, change)?.nickname == nil)
        #expect(try await world.contacts.changeContact(owner.id, of: bob.id, change) == nil)
        #expect(try await world.contacts.removeContact(bob.id, of: owner.id))
        #expect(try await !world.contacts.removeContact(bob.id, of: owner.id))
        // Known by id only: no email.
        #expect(try await world.contacts.addContact(new(bob.id))?.email == nil)
    }

    @Test(arguments: StoreKind.allCases) func pagesNeitherSkipNorRepeat(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let owner = try await world.makeUser().id
        let time = Timestamp.now
        var expected: [UserID] = []
        for index in 0..<7 {
            let user = try await world.makeUser().id
            // Some at the same moment.
            let new = NewContact(
                owner: owner, user: user, isByEmail: false, nickname: nil, createdAt: time + .seconds(index / 3))
            _ = try await world.contacts.addContact(new)
            try await world.contacts.block(user, by: owner, at: time + .seconds(index / 3))
            expected.append(user)
        }
        var (contacts, blocks): ([UserID], [UserID]) = ([], [])
        var cursor: String?
        repeat {
            let page = try await world.contacts.contacts(of: owner, cursor: cursor, limit: 2)
            contacts += page.items.map(\.user.id)
            cursor = page.nextCursor
            // One of those already seen goes meanwhile.
            if contacts.count == 4 { _ = try await world.contacts.removeContact(contacts[3], of: owner) }
        } while cursor != nil
        repeat {
            let page = try await world.contacts.blocks(by: owner, cursor: cursor, limit: 3)
            blocks += page.items.map(\.user.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(contacts == expected.sortedInThrees && blocks == expected.sortedInThrees)
        let code = await storeErrorCode {
            _ = try await world.contacts.contacts(of: owner, cursor: "nonsense", limit: 2)
        }
        #expect(code == .badCursor)
    }

    @Test(arguments: StoreKind.allCases) func contactsAreVisibleOneWay(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        var hidden = UserSettings()
        hidden.directoryVisible = false
        let (owner, other) = (try await world.makeUser(settings: hidden).id, try await world.makeUser(settings: hidden).id)
        #expect(try await world.accounts.visible([other], to: owner).isEmpty)
        let new = NewContact(owner: owner, user: other, isByEmail: true, nickname: nil, createdAt: .now)
        _ = try await world.contacts.addContact(new)
        #expect(try await world.accounts.visible([other], to: owner) == [other])
        #expect(try await world.accounts.visible([owner], to: other).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func blocksHoldBothWays(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let users = [try await world.makeUser().id, try await world.makeUser().id, try await world.makeUser().id]
        for _ in 0..<2 { try await world.contacts.block(users[1], by: users[0], at: .now) }
        try await world.contacts.block(.make(), by: users[0], at: .now)
        #expect(try await world.contacts.blocks(by: users[0], cursor: nil, limit: 10).items.map(\.user.id) == [users[1]])
        #expect(try await world.contacts.blocks(users[1], by: users[0]))
        #expect(try await !world.contacts.blocks(users[0], by: users[1]))
        #expect(try await world.contacts.blocked(users, with: users[0]) == [users[1]])
        #expect(try await world.contacts.blocked(users, with: users[1]) == [users[0]])
        #expect(try await world.contacts.blocked(users, with: users[2]).isEmpty)
        #expect(try await world.contacts.blocked([], with: users[0]).isEmpty)
        for _ in 0..<2 { try await world.contacts.unblock(users[1], by: users[0]) }
        #expect(try await world.contacts.blocked(users, with: users[1]).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func usersAreFoundByEmailAndByWhatTheyShare(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let user = try await world.makeUser()
        #expect(try await world.accounts.user(withEmail: user.email ?? "") == user)
        #expect(try await world.accounts.user(withEmail: "nobody@x.example") == nil)
        let (chat, a, b) = try await world.makeDirect()
        _ = try await world.openDirect(a, user.id)
        #expect(try await Set(world.accounts.partners(of: a, limit: 10)) == [b, user.id])
        #expect(try await world.accounts.partners(of: a, limit: 1).count == 1)
        #expect(try await Set(world.accounts.members(of: chat, limit: 10)) == [a, b])
    }
}

extension [UserID] {
    /// As those made in threes at the same moment are ordered.
    fileprivate var sortedInThrees: [UserID] {
        stride(from: 0, to: count, by: 3).flatMap { self[$0..<Swift.min($0 + 3, count)].sorted() }
    }
}
