import Foundation
import Testing

extension EndToEnd {
    /// What becomes of accounts: links in mails, passwords, suspension, guests that stay.
    @Suite struct AccountLife {
        @Test func aPasswordChangeClosesTheOtherDevicesAndNoOther() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Alice", of: cluster, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let bob = try await Socket.connect(try await Person.guest("Bob", of: cluster, node: 3))
            let kept = try await Socket.connect(phone.at(2))
            var others: [Socket] = []
            for node in 1...3 { others.append(try await Socket.connect(desktop.at(node))) }
            let wrong: JSON = ["currentPassword": "wrong password", "newPassword": "another horse"]
            #expect(try await phone.call("POST", "/v1/auth/password/change", wrong).expect(403).code == "wrongPassword")
            let right: JSON = ["currentPassword": .string(Person.password), "newPassword": "another horse"]
            _ = try await phone.call("POST", "/v1/auth/password/change", right).expect(204)
            for socket in others { #expect(try await socket.closed(within: .seconds(10)) == 4_003) }
            for socket in [kept, bob] {
                try await socket.settle()
                #expect(socket.closeCode == nil)
            }
            for node in 1...3 { _ = try await desktop.at(node).call("GET", "/v1/me").expect(401) }
            _ = try await phone.at(3).call("GET", "/v1/me").expect(200)
            let old = try await Self.login(email, Person.password, cluster)
            #expect(old.status == 401)
            #expect(try await Self.login(email, "another horse", cluster).status == 200)
        }

        @Test func aSuspensionClosesThatUsersSocketsAndNoOther() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice", of: cluster, email: email)
            let bob = try await Socket.connect(try await Person.guest("Bob", of: cluster, node: 3))
            var sockets: [Socket] = []
            for node in 1...3 { sockets.append(try await Socket.connect(alice.at(node))) }
            _ = try await cluster.operate("POST", "users/\(alice.id)/suspend", node: 2).expect(204)
            for socket in sockets { #expect(try await socket.closed(within: .seconds(10)) == 4_003) }
            try await bob.settle()
            #expect(bob.closeCode == nil)
            let login = try await Self.login(email, Person.password, cluster)
            #expect(login.status == 403 && login.code == "suspended")
            #expect(try await Self.login(email, "wrong password", cluster).code == "invalidCredentials")
            let refresh = try await HTTP.call(
                "POST", cluster.url(3), "/v1/auth/refresh", body: ["refreshToken": .string(alice.refreshToken)])
            #expect(refresh.status == 401)
            _ = try await cluster.operate("POST", "users/\(alice.id)/unsuspend", node: 3).expect(204)
            let back = try await Person.loggedIn(email: email, of: cluster)
            let socket = try await Socket.connect(back)
            _ = try await cluster.operate("POST", "users/\(alice.id)/logout").expect(204)
            #expect(try await socket.closed(within: .seconds(10)) == 4_003)
            let audit = try await cluster.operate("GET", "audit").expect(200).json["items"].items
            let actions = audit.filter { $0["subject"] == .string(alice.id) }.map { $0["action"] }
            #expect(actions == ["user.logout", "user.unsuspend", "user.suspend"])
        }

        @Test func aResetLinkWorksOnceTheNewestOnlyAndNotAfterAChange() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice", of: cluster, email: email)
            let socket = try await Socket.connect(alice.at(2))
            for node in 1...2 { try await Self.forgot(" \(email.uppercased()) ", cluster, node: node) }
            try await Self.forgot(Person.uniqueEmail(), cluster, node: 3)
            var tokens = try await cluster.mailTokens("reset-password", to: email, count: 2)
            // The order of the mails is not certain; that exactly one works is.
            var worked: [String] = []
            for token in tokens where try await Self.reset(token, "second horse", cluster).status == 204 {
                worked.append(token)
            }
            #expect(worked.count == 1, "the older of two is refused")
            #expect(try await socket.closed(within: .seconds(10)) == 4_003)
            for node in 1...3 { _ = try await alice.at(node).call("GET", "/v1/me").expect(401) }
            let again = try await Self.reset(worked.first ?? "", "third horse", cluster).expect(422)
            #expect(again.code == "tokenInvalid", "used twice")
            #expect(try await Self.login(email, "third horse", cluster).status == 401)
            let session = try await Self.login(email, "second horse", cluster).expect(200).json
            let back = try Person(session, cluster: cluster, node: 3)
            #expect(try await back.call("GET", "/v1/me").json["emailVerified"] == true, "the link was read there")

            try await Self.forgot(email, cluster, node: 1)
            tokens = try await cluster.mailTokens("reset-password", to: email, count: 3)
            let change: JSON = ["currentPassword": "second horse", "newPassword": "fourth horse"]
            _ = try await back.call("POST", "/v1/auth/password/change", change).expect(204)
            for token in tokens {
                #expect(try await Self.reset(token, "fifth horse", cluster).code == "tokenInvalid", "after a change")
            }
        }

        @Test func aRegistrationSendsAMailThatVerifies() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let alice = try await Person.registered("Alice", of: cluster, email: email)
            #expect(try await alice.call("GET", "/v1/me").json["emailVerified"] == false)
            let first = try await cluster.mailTokens("verify-email", to: email, count: 1)
            _ = try await alice.at(2).call("POST", "/v1/auth/email/resend").expect(204)
            #expect(try await cluster.mailTokens("verify-email", to: email, count: 2).count == 2)
            let path = "/v1/auth/email/verify"
            let wrong = try await HTTP.call("POST", cluster.url(3), path, body: ["token": "wrong"])
            #expect(wrong.status == 422 && wrong.code == "tokenInvalid")
            _ = try await HTTP.call("POST", cluster.url(3), path, body: ["token": .string(first[0])]).expect(204)
            #expect(try await alice.call("GET", "/v1/me").json["emailVerified"] == true)
        }

        @Test func aGuestLinksAFreeEmailAndNotAUsedOne() async throws {
            let cluster = try await Cluster.shared()
            let (used, free) = (Person.uniqueEmail(), Person.uniqueEmail())
            let bob = try await Person.registered("Bob", of: cluster, email: used)
            let guest = try await Person.guest("Eve", of: cluster, node: 2)
            let chat = try await guest.chat(with: bob)
            _ = try await guest.post("before", to: chat).expect(201)
            let socket = try await Socket.connect(guest.at(3))
            func link(_ email: String) async throws -> Answer {
                try await guest.call(
                    "POST", "/v1/auth/link", ["email": .string(email), "password": .string(Person.password)])
            }
            let before = try await guest.call("GET", "/v1/me").json
            for spelling in [used, " \(used.uppercased())"] {
                #expect(try await link(spelling).expect(409).code == "emailTaken")
            }
            #expect(try await guest.call("GET", "/v1/me").json == before, "untouched")
            let linked = try Person(try await link(free).expect(200).json, cluster: cluster, node: 1)
            #expect(linked.id == guest.id && linked.deviceID == guest.deviceID)
            #expect(try await linked.history(chat).texts == ["before"])
            #expect(try await Person.loggedIn(email: free, of: cluster, node: 3).id == guest.id)
            try await socket.settle()
            #expect(socket.closeCode == nil)
            #expect(try await cluster.mailTokens("verify-email", to: free, count: 1).count == 1)
        }

        @Test func aPushTokenFollowsTheLastLogin() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.registered("Alice", of: cluster, node: 1)
            let bob = try await Person.registered("Bob", of: cluster, node: 2)
            let token: JSON = ["provider": "fcm", "token": .string("t-\(UUID().uuidString)")]
            func providers(_ person: Person) async throws -> [JSON] {
                try await person.call("GET", "/v1/devices").expect(200).json["items"].items.map { $0["pushProvider"] }
            }
            _ = try await alice.call("PUT", "/v1/devices/current/push", token).expect(204)
            #expect(try await providers(alice) == ["fcm"])
            _ = try await bob.call("PUT", "/v1/devices/current/push", token).expect(204)
            #expect(try await providers(alice) == [nil])
            #expect(try await providers(bob) == ["fcm"])
            _ = try await bob.call("POST", "/v1/auth/logout").expect(204)
            let left = try await cluster.query(
                "SELECT count(*) FROM push_addresses WHERE device_id IN ('\(alice.deviceID)', '\(bob.deviceID)')")
            #expect(left == [["0"]])
        }

        private static func login(_ email: String, _ password: String, _ cluster: Cluster) async throws -> Answer {
            try await HTTP.call(
                "POST", cluster.url(2), "/v1/auth/login", body: ["email": .string(email), "password": .string(password)])
        }

        private static func forgot(_ email: String, _ cluster: Cluster, node: Int) async throws {
            let body: JSON = ["email": .string(email)]
            _ = try await HTTP.call("POST", cluster.url(node), "/v1/auth/password/forgot", body: body).expect(202)
        }

        private static func reset(_ token: String, _ password: String, _ cluster: Cluster) async throws -> Answer {
            let body: JSON = ["token": .string(token), "newPassword": .string(password)]
            return try await HTTP.call("POST", cluster.url(1), "/v1/auth/password/reset", body: body)
        }
    }
}
