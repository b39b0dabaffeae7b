import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Members, rights, accounts.
    @Suite struct Accounts {
        @Test func aDirectChatStartedByBothAtOnceIsOne() async throws {
            let cluster = try await Cluster.shared()
            let alice = try await Person.guest("Alice", of: cluster, node: 1)
            let bob = try await Person.guest("Bob", of: cluster, node: 2)
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 0..<32 {
                    let (one, other) = number.isMultiple(of: 2) ? (alice, bob) : (bob, alice)
                    group.addTask {
                        try await one.call("POST", "/v1/conversations", ["kind": "direct", "userId": .string(other.id)])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(answers.map(\.status)).isSubset(of: [200, 201]))
            #expect(answers.filter { $0.status == 201 }.count == 1)
            #expect(Set(answers.map { $0.json["id"] }).count == 1)
            #expect(answers.first?.json["lastSeq"] == 0)
            for person in [alice, bob] {
                #expect(try await person.call("GET", "/v1/conversations").expect(200).json["items"].items.count == 1)
            }
        }

        @Test func logoutClosesThatDevicesSocketsAndNoOther() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Alice", of: cluster, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            var phones: [Socket] = []
            for node in 1...3 { phones.append(try await Socket.connect(phone.at(node))) }
            let other = try await Socket.connect(desktop.at(3))
            _ = try await phone.call("POST", "/v1/auth/logout").expect(204)
            for socket in phones { #expect(try await socket.closed(within: .seconds(10)) == 4_003) }
            try await other.settle()
            #expect(other.closeCode == nil)
            for node in 1...3 { #expect(try await phone.at(node).call("GET", "/v1/me").expect(401).code == "unauthenticated") }
            let refresh = try await HTTP.call(
                "POST", cluster.url(2), "/v1/auth/refresh", body: ["refreshToken": .string(phone.refreshToken)])
            #expect(refresh.status == 401)
            let late = try await Socket.open(cluster.url(2))
            try await late.send(["op": "hello", "token": .string(phone.token)])
            #expect(try await late.closed() == 4_001, "a revoked token opens nothing")
            _ = try await desktop.call("GET", "/v1/me").expect(200)
        }

        @Test func aDeviceLoggedOutFromAnotherClosesToo() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Alice", of: cluster, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let socket = try await Socket.connect(phone.at(3))
            let devices = try await desktop.call("GET", "/v1/devices").expect(200).json["items"].items
            #expect(Set(devices.compactMap { $0["id"].string }) == [phone.deviceID, desktop.deviceID])
            #expect(devices.filter { $0["isCurrent"] == true }.map { $0["id"] } == [.string(desktop.deviceID)])
            _ = try await desktop.call("DELETE", "/v1/devices/\(phone.deviceID)").expect(204)
            #expect(try await socket.closed(within: .seconds(10)) == 4_003)
        }

        @Test func anExpiredTokenClosesItsSocketUnlessAFreshOneCameInTime() async throws {
            let cluster = try await Cluster(name: "expiry", nodes: 1, settings: ["ROOST_ACCESS_TOKEN_SECONDS": "4"])
            let person = try await Person.guest("Alice", of: cluster)
            let left = try await Socket.connect(person)
            let renewed = try await Socket.connect(person)
            let stranger = try await Person.guest("Mallory", of: cluster)
            let refreshed = try await HTTP.call(
                "POST", cluster.url(1), "/v1/auth/refresh", body: ["refreshToken": .string(person.refreshToken)]
            ).expect(200).json
            #expect(try await renewed.request("token", ["token": refreshed["accessToken"]])["ok"] == true)
            #expect(try await left.closed(within: .seconds(20)) == 4_002)
            let late = try await Socket.open(cluster.url(1))
            try await late.send(["op": "hello", "token": .string(person.token)])
            #expect(try await late.closed() == 4_002)
            #expect(try await person.call("GET", "/v1/me").expect(401).code == "tokenExpired")
            let foreign = try await Socket.open(cluster.url(1))
            let fresh = try await HTTP.call(
                "POST", cluster.url(1), "/v1/auth/refresh", body: ["refreshToken": refreshed["refreshToken"]]
            ).expect(200).json["accessToken"]
            try await foreign.hello(fresh.string ?? "")
            _ = try await foreign.begin("token", ["token": .string(stranger.token)])
            #expect(try await foreign.closed() == 4_001, "another user's token")
            try await cluster.down()
        }

        @Test func aSpentRefreshTokenAnswersTheSameForAMomentAndThenRevokes() async throws {
            let cluster = try await Cluster.shared()
            let person = try await Person.registered("Alice", of: cluster)
            let body: JSON = ["refreshToken": .string(person.refreshToken)]
            // A lost answer, asked for again through every node.
            var successors: Set<String> = []
            for node in 1...3 {
                let session = try await HTTP.call("POST", cluster.url(node), "/v1/auth/refresh", body: body).expect(200).json
                successors.insert(try #require(session["refreshToken"].string))
            }
            #expect(successors.count == 1)
            let unknown = try await HTTP.call("POST", cluster.url(1), "/v1/auth/refresh", body: ["refreshToken": "nonsense"])
            #expect(unknown.status == 401)
        }

        @Test func emailsAreOneWhateverTheirCaseAndBlanks() async throws {
            let cluster = try await Cluster.shared()
            let local = "Bob\(UUID().uuidString.prefix(8))"
            let first = try await Person.registered("Bob", of: cluster, email: "\(local)@X.example")
            for spelling in ["\(local.lowercased())@x.example", "  \(local.uppercased())@X.EXAMPLE \t", "\(local)@x.example"] {
                let answer = try await HTTP.call(
                    "POST", cluster.url(2), "/v1/auth/register",
                    body: ["email": .string(spelling), "password": .string(Person.password)]
                ).expect(409)
                #expect(answer.code == "emailTaken")
                #expect(try await Person.loggedIn(email: spelling, of: cluster, node: 3).id == first.id)
            }
            let tagged = try await Person.registered("Bob", of: cluster, email: "\(local)+a@x.example")
            #expect(tagged.id != first.id)
        }

        @Test func unknownEmailAndWrongPasswordAreAlike() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            _ = try await Person.registered("Alice", of: cluster, email: email)
            func login(_ email: String) async throws -> Answer {
                try await HTTP.call(
                    "POST", cluster.url(1), "/v1/auth/login", body: ["email": .string(email), "password": "wrong password"])
            }
            let wrong = try await login(email).expect(401)
            let unknown = try await login(Person.uniqueEmail()).expect(401)
            #expect(wrong.code == "invalidCredentials" && unknown.code == "invalidCredentials")
            #expect(wrong.json["detail"] == unknown.json["detail"])
        }
    }
}
