import Ports
import RoostModel
import Testing

/// What every ``AccountStore`` keeps.
@Suite struct AccountStoreContract {
    @Test(arguments: StoreKind.allCases) func usersAndCredentials(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let email = "\(UserID.make())@x.example"
        let user = try await world.makeUser("Bob", email: email)
        #expect(try await world.accounts.user(user.id) == user)
        let credentials = try #require(try await world.accounts.credentials(forEmail: email))
        #expect(credentials.user == user && credentials.passwordHash == "hash" && !credentials.isSuspended)
        #expect(try await world.accounts.credentials(forEmail: "nobody@x.example") == nil)
        #expect(await storeErrorCode { _ = try await world.makeUser(email: email) } == .conflict)
        let guests = [try await world.makeUser(email: nil), try await world.makeUser(email: nil)]
        #expect(guests.filter(\.isAnonymous) == guests)
        #expect(Set(try await world.accounts.users([guests[0].id, .make(), user.id])) == [guests[0], user])
        #expect(try await world.accounts.user(.make()) == nil)
        #expect(try await world.accounts.users([]).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func oneSecretForAll(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let name = "secret \(UserID.make())"
        let secrets = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<16 { group.addTask { try await world.accounts.clusterSecret(named: name) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(secrets.count == 1 && secrets.first?.count == 32)
        #expect(try await world.accounts.clusterSecret(named: name + "2") != secrets.first)
    }

    @Test(arguments: StoreKind.allCases) func profileChanges(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let user = try await world.makeUser("Before")
        var change = ProfileChange()
        change.displayName = "After"
        change.firstName = .some("Ada")
        change.about = .some("text")
        change.directoryVisible = false
        let changed = try #require(try await world.accounts.updateUser(user.id, change))
        #expect(
            changed.displayName == "After" && changed.firstName == "Ada" && changed.about == "text" && changed.lastName == nil)
        #expect(!changed.settings.directoryVisible && changed.settings.shareReadReceipts && !changed.profileCompleted)
        var clear = ProfileChange()
        clear.about = .some(nil)
        let cleared = try #require(try await world.accounts.updateUser(user.id, clear))
        #expect(cleared.about == nil && cleared.firstName == "Ada" && cleared.displayName == "After")
        #expect(try await world.accounts.user(user.id) == cleared)
        #expect(try await world.accounts.updateUser(.make(), change) == nil)
    }

    @Test(arguments: StoreKind.allCases) func refreshTokensRotate(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let user = try await world.makeUser()
        let tokens = (0..<4).map { _ in TokenHash.random() }
        let device = world.newDevice(of: user.id, token: tokens[0])
        _ = try await world.accounts.createDevice(device, checkedHash: "hash")
        let start = Timestamp.now
        func rotate(_ spent: TokenHash, _ successor: TokenHash, after: Duration) async throws -> RefreshOutcome {
            try await world.accounts.rotateRefreshToken(
                spent: spent, successor: successor, at: start + after, expiresAt: start + after + .seconds(60),
                grace: .seconds(10))
        }
        #expect(try await rotate(tokens[0], tokens[1], after: .seconds(1)).device == device.id)
        #expect(try await rotate(tokens[1], tokens[2], after: .seconds(5)).device == device.id)
        // The answer was lost: the same again, within the grace time.
        #expect(try await rotate(tokens[0], tokens[1], after: .seconds(11)).device == device.id)
        #expect(try await world.accounts.devices(of: user.id).count == 2)
        #expect(
            try await world.accounts.devices(of: user.id).contains { $0.id == device.id && $0.lastUsedAt == start + .seconds(5) })
        #expect(try await rotate(.random(), tokens[3], after: .seconds(12)).isUnknown)
        // Later it is a theft: the device goes, and its newest token too.
        guard case .reused(let reused) = try await rotate(tokens[0], tokens[1], after: .seconds(12)) else {
            Issue.record("not noticed")
            return
        }
        #expect(reused == device.id)
        #expect(try await rotate(tokens[2], tokens[3], after: .seconds(13)).isUnknown)
        #expect(try await world.accounts.devices(of: user.id).allSatisfy { $0.id != device.id })
        #expect(try await world.accounts.revocations(since: start + .seconds(-60)).contains(device.id))
    }

    @Test(arguments: StoreKind.allCases) func tokensExpireAndRaceToOne(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let user = try await world.makeUser()
        let (old, token) = (TokenHash.random(), TokenHash.random())
        _ = try await world.accounts.createDevice(
            world.newDevice(of: user.id, token: old, expiresIn: .seconds(-1)), checkedHash: "hash")
        _ = try await world.accounts.createDevice(world.newDevice(of: user.id, token: token), checkedHash: "hash")
        let now = Timestamp.now
        let expired = try await world.accounts.rotateRefreshToken(
            spent: old, successor: .random(), at: now, expiresAt: now + .seconds(60), grace: .seconds(10))
        #expect(expired.isUnknown)
        let successor = TokenHash.random()
        let outcomes = try await withThrowingTaskGroup(of: RefreshOutcome.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    try await world.accounts.rotateRefreshToken(
                        spent: token, successor: successor, at: now, expiresAt: now + .seconds(60), grace: .seconds(10))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.device != nil })
    }

    @Test(arguments: StoreKind.allCases) func devicesAreRevokedOnce(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (user, stranger) = (try await world.makeUser(), try await world.makeUser())
        let token = TokenHash.random()
        let device = world.newDevice(of: user.id, token: token)
        _ = try await world.accounts.createDevice(device, checkedHash: "hash")
        #expect(try await world.accounts.revokeDevice(device.id, of: stranger.id, at: .now) == false)
        #expect(try await world.accounts.revokeDevice(device.id, of: user.id, at: .now))
        #expect(try await world.accounts.revokeDevice(device.id, of: user.id, at: .now) == false)
        let outcome = try await world.accounts.rotateRefreshToken(
            spent: token, successor: .random(), at: .now, expiresAt: .now + .seconds(60), grace: .seconds(10))
        #expect(outcome.isUnknown)
        #expect(try await world.accounts.revocations(since: .now + .seconds(-60)).contains(device.id))
        #expect(try await world.accounts.revocations(since: .now + .seconds(60)).isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func directoryFindsByAnyWord(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.fresh(kind)
        let caller = try await world.makeUser("Angela Caller").id
        let names = ["Ångström Łukasz", "angela merkel", "Zoë Angel", "O'Neil", "Михаил Ёлкин", "नमस्ते", "Anna-Maria Groß"]
        var ids: [String: UserID] = [:]
        for name in names { ids[name] = try await world.makeUser(name).id }
        _ = try await world.makeUser("Angus Guest", email: nil)
        var hidden = UserSettings()
        hidden.directoryVisible = false
        _ = try await world.makeUser("Angus Hidden", settings: hidden)
        func find(_ query: String?) async throws -> Set<String> {
            var found: Set<String> = []
            var cursor: String?
            repeat {
                let page = try await world.accounts.directory(query: query, caller: caller, cursor: cursor, limit: 2)
                #expect(found.isDisjoint(with: page.items.map(\.displayName)))
                found.formUnion(page.items.map(\.displayName))
                cursor = page.nextCursor
            } while cursor != nil
            return found
        }
        #expect(try await find("ang") == ["Ångström Łukasz", "angela merkel", "Zoë Angel"])
        #expect(try await find("ANG") == ["Ångström Łukasz", "angela merkel", "Zoë Angel"])
        #expect(try await find("łuk") == ["Ångström Łukasz"])
        #expect(try await find("Luk") == ["Ångström Łukasz"])
        #expect(try await find("zoe a") == ["Zoë Angel"])
        #expect(try await find("ngel").isEmpty)
        #expect(try await find("neil") == ["O'Neil"])
        #expect(try await find("o'neil") == ["O'Neil"])
        #expect(try await find("елк") == ["Михаил Ёлкин"])
        #expect(try await find("नम") == ["नमस्ते"])
        #expect(try await find("maria gross") == ["Anna-Maria Groß"])
        #expect(try await find("%").isEmpty)
        #expect(try await find("_").isEmpty)
        #expect(try await find("*").isEmpty)
        #expect(try await find("\\").isEmpty)
        #expect(try await find(nil) == Set(names))
        #expect(try await find("") == Set(names))
        // A new name is found, the old one is not.
        var change = ProfileChange()
        change.displayName = "Berta"
        change.lastName = .some("Angelus")
        _ = try await world.accounts.updateUser(ids["angela merkel"]!, change)
        #expect(try await find("merkel").isEmpty)
        #expect(try await find("bert") == ["Berta"])
        #expect(try await find("angelu") == ["Berta"])
        change.displayName = nil
        change.lastName = .some(nil)
        _ = try await world.accounts.updateUser(ids["angela merkel"]!, change)
        #expect(try await find("angelu").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func whoSeesWhom(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        var hidden = UserSettings()
        hidden.directoryVisible = false
        let me = try await world.makeUser(settings: hidden).id
        let (listed, secret, mate) = (
            try await world.makeUser().id, try await world.makeUser(settings: hidden).id, try await world.makeUser(email: nil).id
        )
        _ = try await world.openDirect(me, mate)
        #expect(try await world.accounts.visible([me, listed, secret, mate, .make()], to: me) == [me, listed, mate])
        #expect(try await world.accounts.visible([me, mate], to: secret) == [])
    }

    @Test(arguments: StoreKind.allCases) func lastSeenOnlyRises(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (a, b) = (try await world.makeUser().id, try await world.makeUser().id)
        let time = Timestamp.now
        try await world.accounts.recordLastSeen([a: time, .make(): time])
        try await world.accounts.recordLastSeen([a: time + .seconds(-5)])
        #expect(try await world.accounts.lastSeen([a, b, .make()]) == [a: time])
        try await world.accounts.recordLastSeen([:])
    }
}

extension RefreshOutcome {
    /// The device of a rotation.
    var device: DeviceID? {
        switch self {
        case .rotated(_, let device): device
        case .reused, .unknown: nil
        }
    }

    var isUnknown: Bool {
        switch self {
        case .unknown: true
        case .rotated, .reused: false
        }
    }
}
