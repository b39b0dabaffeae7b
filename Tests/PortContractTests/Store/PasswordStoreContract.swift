import Ports
import RoostModel
import Testing

/// What every ``PasswordStore`` and ``PushTokenStore`` keeps.
@Suite struct PasswordStoreContract {
    @Test(arguments: StoreKind.allCases) func aLoginNeedsThePasswordThatWasChecked(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let user = try await world.makeUser()
        let first = try #require(try await world.accounts.devices(of: user.id).first)
        let stale = try await world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "another")
        #expect(!stale)
        #expect(try await world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "hash"))
        #expect(
            try await world.accounts.changePassword(of: user.id, expecting: "another", to: "new", keeping: first.id) == nil)
        #expect(try await world.accounts.passwordHash(of: user.id) == "hash")
        let revoked = try await world.accounts.changePassword(of: user.id, expecting: "hash", to: "new", keeping: first.id)
        #expect(revoked?.count == 1)
        #expect(try await world.accounts.devices(of: user.id).map(\.id) == [first.id])
        #expect(try await !world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "hash"))
        #expect(try await world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "new"))
    }

    @Test(arguments: StoreKind.allCases) func noLoginOutlivesAChangeOfItsPassword(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        for _ in 0..<8 {
            let user = try await world.makeUser()
            let kept = try #require(try await world.accounts.devices(of: user.id).first).id
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        _ = try await world.accounts.createDevice(world.newDevice(of: user.id), checkedHash: "hash")
                    }
                }
                group.addTask {
                    let revoked = try await world.accounts.changePassword(
                        of: user.id, expecting: "hash", to: "new", keeping: kept)
                    #expect(revoked != nil)
                }
                try await group.waitForAll()
            }
            #expect(try await world.accounts.devices(of: user.id).map(\.id) == [kept])
        }
    }

    @Test(arguments: StoreKind.allCases) func onlyTheNewestResetLinkWorksAndOnce(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (email, now) = (Self.email(), Timestamp.now)
        let user = try await world.makeUser(email: email)
        let (older, newer) = (MailToken.test(), MailToken.test())
        for token in [older, newer] { try await world.accounts.requestPasswordReset(forEmail: email, token: token) }
        #expect(try await !world.accounts.isResetToken(older.hash, at: now))
        #expect(try await world.accounts.isResetToken(newer.hash, at: now))
        #expect(try await world.accounts.resetPassword(token: older.hash, passwordHash: "x", at: now) == nil)
        // It is not the token that verifies an email.
        #expect(try await world.accounts.verifyEmail(token: newer.hash, at: now) == nil)
        let late = newer.expiresAt
        #expect(try await world.accounts.resetPassword(token: newer.hash, passwordHash: "x", at: late) == nil)
        let devices = Set(try await world.accounts.devices(of: user.id).map(\.id))
        let revoked = try await world.accounts.resetPassword(token: newer.hash, passwordHash: "new", at: now)
        #expect(revoked.map(Set.init) == devices && devices.count == 1)
        #expect(try await world.accounts.devices(of: user.id).isEmpty)
        #expect(try await world.accounts.passwordHash(of: user.id) == "new")
        #expect(try await world.accounts.user(user.id)?.emailVerified == true)
        #expect(try await world.accounts.resetPassword(token: newer.hash, passwordHash: "y", at: now) == nil)
        try await world.accounts.requestPasswordReset(forEmail: Self.email(), token: .test())
    }

    @Test(arguments: StoreKind.allCases) func oneOfManyUsesOfALinkCounts(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (email, token) = (Self.email(), MailToken.test())
        _ = try await world.makeUser(email: email)
        try await world.accounts.requestPasswordReset(forEmail: email, token: token)
        let uses = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<8 {
                group.addTask {
                    try await world.accounts.resetPassword(token: token.hash, passwordHash: "\(index)", at: .now) != nil
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(uses == 1)
    }

    @Test(arguments: StoreKind.allCases) func aChangedPasswordKillsResetLinks(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (email, token) = (Self.email(), MailToken.test())
        let user = try await world.makeUser(email: email)
        try await world.accounts.requestPasswordReset(forEmail: email, token: token)
        _ = try await world.accounts.changePassword(of: user.id, expecting: "hash", to: "new", keeping: .make())
        #expect(try await !world.accounts.isResetToken(token.hash, at: .now))
        #expect(try await world.accounts.resetPassword(token: token.hash, passwordHash: "x", at: .now) == nil)
    }

    @Test(arguments: StoreKind.allCases) func emailsAreVerified(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let now = Timestamp.now
        let user = User(id: .make(), email: Self.email(), displayName: "Bob", createdAt: now)
        let (first, second) = (MailToken.test(), MailToken.test())
        try await world.accounts.createUser(
            user, passwordHash: "hash", device: world.newDevice(of: user.id), verification: first)
        try await world.accounts.requestVerification(of: user.id, token: second)
        #expect(try await world.accounts.verifyEmail(token: .random(), at: now) == nil)
        #expect(try await world.accounts.verifyEmail(token: first.hash, at: first.expiresAt) == nil)
        #expect(try await world.accounts.resetPassword(token: first.hash, passwordHash: "x", at: now) == nil)
        #expect(try await world.accounts.user(user.id)?.emailVerified == false)
        // Any of the mails does, and again.
        for _ in 0..<2 { #expect(try await world.accounts.verifyEmail(token: first.hash, at: now) == user.id) }
        #expect(try await world.accounts.user(user.id)?.emailVerified == true)
        #expect(try await world.accounts.verifyEmail(token: second.hash, at: now) == user.id)
    }

    @Test(arguments: StoreKind.allCases) func aGuestBecomesAFullAccountOrStaysAsItIs(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (free, taken) = (Self.email(), Self.email())
        _ = try await world.makeUser(email: taken)
        let guest = try await world.makeUser("Eve", email: nil)
        let device = try #require(try await world.accounts.devices(of: guest.id).first).id
        func link(_ email: String, device: DeviceID = device, refresh: TokenHash = .random()) -> GuestLink {
            GuestLink(
                user: guest.id, device: device, email: email, passwordHash: "secret", refreshToken: refresh,
                refreshExpiresAt: .now + .seconds(60), verification: .test())
        }
        #expect(await storeErrorCode { _ = try await world.accounts.linkGuest(link(taken)) } == .conflict)
        #expect(try await world.accounts.user(guest.id) == guest)
        #expect(try await world.accounts.linkGuest(link(free, device: .make())) == nil)
        #expect(try await world.accounts.user(guest.id) == guest)
        let refresh = TokenHash.random()
        let linked = try #require(try await world.accounts.linkGuest(link(free, refresh: refresh)))
        #expect(linked.id == guest.id && linked.email == free && !linked.isAnonymous && !linked.emailVerified)
        #expect(try await world.accounts.user(guest.id) == linked)
        #expect(try await world.accounts.credentials(forEmail: free)?.passwordHash == "secret")
        let rotated = try await world.accounts.rotateRefreshToken(
            spent: refresh, successor: .random(), at: .now, expiresAt: .now + .seconds(60), grace: .seconds(10))
        #expect(rotated.device == device)
        #expect(try await world.accounts.linkGuest(link(Self.email())) == nil)
        let caller = try await world.makeUser().id
        let found = try await world.accounts.directory(query: "Eve", caller: caller, cursor: nil, limit: 200)
        #expect(found.items.contains(linked))
    }

    @Test(arguments: StoreKind.allCases) func aPushTokenHasOneOwner(_ kind: StoreKind) async throws {
        let world = try await StoreWorld.shared(kind)
        let (a, b) = (try await world.makeUser(), try await world.makeUser())
        let phoneOfA = try #require(try await world.accounts.devices(of: a.id).first).id
        let phoneOfB = try #require(try await world.accounts.devices(of: b.id).first).id
        let token = "t\(UserID.make())"
        let apns = PushAddress(provider: .apns, token: token, topic: "app.example", isSandbox: true)
        #expect(try await world.accounts.setPushAddress(apns, of: phoneOfA, ownedBy: a.id))
        #expect(try await world.accounts.pushAddresses(of: a.id) == [phoneOfA: apns])
        #expect(try await world.accounts.devices(of: a.id).map(\.pushProvider) == [.apns])
        // Not for another's device, and not in its name.
        #expect(try await !world.accounts.setPushAddress(apns, of: phoneOfA, ownedBy: b.id))
        // The same text at another provider is another token.
        let fcm = PushAddress(provider: .fcm, token: token)
        #expect(try await world.accounts.setPushAddress(fcm, of: phoneOfB, ownedBy: b.id))
        #expect(try await world.accounts.pushAddresses(of: a.id) == [phoneOfA: apns])
        #expect(try await world.accounts.setPushAddress(apns, of: phoneOfB, ownedBy: b.id))
        #expect(try await world.accounts.pushAddresses(of: a.id).isEmpty)
        #expect(try await world.accounts.pushAddresses(of: b.id) == [phoneOfB: apns])
        let web = PushAddress(provider: .webpush, token: "https://\(token)", keys: .init(p256dh: "p", auth: "a"))
        #expect(try await world.accounts.setPushAddress(web, of: phoneOfB, ownedBy: b.id))
        #expect(try await world.accounts.pushAddresses(of: b.id) == [phoneOfB: web])
        try await world.accounts.removePushAddress(of: phoneOfB, ownedBy: a.id)
        #expect(try await world.accounts.pushAddresses(of: b.id).count == 1)
        #expect(try await world.accounts.revokeDevice(phoneOfB, of: b.id, at: .now))
        #expect(try await world.accounts.pushAddresses(of: b.id).isEmpty)
        #expect(try await !world.accounts.setPushAddress(web, of: phoneOfB, ownedBy: b.id))
        try await world.accounts.removePushAddress(of: phoneOfA, ownedBy: a.id)
        #expect(try await world.accounts.devices(of: a.id).map(\.pushProvider) == [nil])
    }

    private static func email() -> String { "\(UserID.make())@x.example" }
}

extension MailToken {
    static func test() -> MailToken {
        MailToken(text: "\(UserID.make())", hash: .random(), expiresAt: .now + .seconds(3_600))
    }
}
