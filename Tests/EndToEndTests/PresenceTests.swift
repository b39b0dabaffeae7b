import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Presence and typing.
    @Suite struct Presence {
        @Test func aCloseFrameIsSeenAtOnceOnEveryNode() async throws {
            let (alice, bob, _) = try await pair()
            let phone = try await Socket.connect(bob)
            var observers: [Socket] = []
            for node in 1...3 { observers.append(try await watching(bob, from: alice.at(node), state: "online")) }
            try phone.close()
            for observer in observers { try await expect("offline", of: bob, at: observer, within: .seconds(5)) }
        }

        @Test func aBrokenLineIsOfflineInTimeAndAReturnShowsNothing() async throws {
            let (alice, bob, _) = try await pair()
            let first = try await Socket.connect(bob)
            let observer = try await watching(bob, from: alice.at(3), state: "online")
            first.reset()
            try await Task.sleep(for: .seconds(3))
            let second = try await Socket.connect(bob.at(1))
            // Longer than the 10 s after which an absence would have shown.
            try await Task.sleep(for: .seconds(9))
            #expect(states(of: bob, at: observer).allSatisfy { $0 == "online" }, "no flapping")
            second.drop()
            try await expect("offline", of: bob, at: observer, within: .seconds(17))
        }

        @Test(.enabled(if: Limits.isLong, "a silent line takes 45 s"))
        func aSilentLineIsOfflineInTime() async throws {
            let (alice, bob, _) = try await pair()
            let phone = try await Socket.connect(bob)
            let observer = try await watching(bob, from: alice.at(3), state: "online")
            phone.fallSilent()
            try await expect("offline", of: bob, at: observer, within: .seconds(45))
        }

        @Test func aDeadNodesUsersAreOfflineInTime() async throws {
            let (alice, bob, _) = try await pair(on: 1, 2)
            _ = try await Socket.connect(bob)
            let observer = try await watching(bob, from: alice.at(3), state: "online")
            try alice.cluster.signal(SIGKILL, node: 2)
            try await expect("offline", of: bob, at: observer, within: .seconds(17))
            try await alice.cluster.up()
        }

        @Test func severalDevicesCountTogether() async throws {
            let cluster = try await Cluster.shared()
            let email = Person.uniqueEmail()
            let phone = try await Person.registered("Bob", of: cluster, node: 1, email: email)
            let desktop = try await Person.loggedIn(email: email, of: cluster, node: 2)
            let alice = try await Person.guest("Alice", of: cluster, node: 3)
            _ = try await alice.chat(with: phone)
            let onPhone = try await Socket.connect(phone, background: true)
            let observer = try await watching(phone, from: alice, state: "away")
            let onDesktop = try await Socket.connect(desktop)
            try await expect("online", of: phone, at: observer)
            try onDesktop.close()
            try await expect("away", of: phone, at: observer)
            _ = try await onPhone.request("state", ["background": false])
            try await expect("online", of: phone, at: observer)
            _ = try await onPhone.request("state", ["background": true])
            try await expect("away", of: phone, at: observer)
            try onPhone.close()
            try await expect("offline", of: phone, at: observer)
            let last = try #require(observer.events("presence").last)
            #expect(last["presence"]["lastSeenAt"].string != nil)
            // The time is stored a second's worth at a time.
            try await eventually("it was seen lately, over REST too") {
                let asked = try await alice.call("GET", "/v1/presence?userIds=\(phone.id)").expect(200).json["items"][0]
                return asked["state"] == "offline" && asked["lastSeenAt"].string != nil
            }
        }

        @Test func strangersAreLeftOut() async throws {
            let cluster = try await Cluster.shared()
            let eve = try await Person.guest("Eve", of: cluster)
            let guest = try await Person.guest("Guest", of: cluster, node: 2)
            _ = try await Socket.connect(guest)
            #expect(try await eve.call("GET", "/v1/presence?userIds=\(guest.id)").expect(200).json["items"].items.isEmpty)
        }

        @Test func typingEndsWhenTheTypistSendsStopsOrGoes() async throws {
            let (alice, bob, chat) = try await pair()
            let observer = try await Socket.connect(bob.at(3))
            let other = try await Socket.connect(alice.at(2))
            var typist = try await Socket.connect(alice)
            let start: JSON = ["conversationId": .string(chat), "active": true]

            _ = try await typist.request("typing", start)
            try await typing([true], of: alice, at: observer)
            _ = try await typist.post("done", to: chat)
            try await typing([true, false], of: alice, at: observer)

            // At most one in 3 s is passed on.
            try await Task.sleep(for: .milliseconds(3_200))
            _ = try await typist.request("typing", start)
            try await typing([true, false, true], of: alice, at: observer)
            // The typist says nothing more: it ends after 6 s.
            try await typing([true, false, true, false], of: alice, at: observer, within: .seconds(9))

            _ = try await typist.request("typing", start)
            try await typing([true, false, true, false, true], of: alice, at: observer)
            typist.reset()
            try await typing([true, false, true, false, true, false], of: alice, at: observer, within: .seconds(9))

            typist = try await Socket.connect(alice)
            #expect(other.events("typing").isEmpty, "no session of the typist is told")
        }

        /// Node 2 is the typist's; of the others one observes.
        @Test(arguments: [1, 2, 3])
        func typingEndsWhenTheTypistsNodeDies(owner: Int) async throws {
            var (alice, bob, chat) = try await pair(on: 2, 3)
            while try await alice.cluster.owner(of: chat) != owner { (alice, bob, chat) = try await pair(on: 2, 3) }
            let observer = try await Socket.connect(bob)
            let typist = try await Socket.connect(alice)
            _ = try await typist.request("typing", ["conversationId": .string(chat), "active": true])
            try await typing([true], of: alice, at: observer)
            try alice.cluster.signal(SIGKILL, node: 2)
            try await typing([true, false], of: alice, at: observer, within: .seconds(9))
            try await alice.cluster.up()
        }

        @Test func anObserverWhoseLineDiedSeesNoTypingAfterItsReturn() async throws {
            let (alice, bob, chat) = try await pair()
            let observer = try await Socket.connect(bob)
            let typist = try await Socket.connect(alice)
            _ = try await typist.request("typing", ["conversationId": .string(chat), "active": true])
            try await typing([true], of: alice, at: observer)
            observer.reset()
            let again = try await Socket.connect(bob)
            _ = try await typist.post("done", to: chat)
            try await again.message("done", in: chat)
            try await again.settle()
            #expect(typings(of: alice, at: again).last != true)
        }

        // MARK: Helpers

        private func watching(_ person: Person, from observer: Person, state: String) async throws -> Socket {
            let socket = try await Socket.connect(observer)
            let answer = try await socket.request("watch", ["userIds": [.string(person.id)]])
            #expect(answer["ok"] == true, "\(answer)")
            if answer["result"]["presence"][0]["state"] != .string(state) {
                _ = try await socket.event("presence") { $0["presence"]["state"] == .string(state) }
            }
            return socket
        }

        private func states(of person: Person, at observer: Socket) -> [String] {
            observer.events("presence").map { $0["presence"] }.filter { $0["userId"] == .string(person.id) }.compactMap {
                $0["state"].string
            }
        }

        private func expect(_ state: String, of person: Person, at observer: Socket, within limit: Duration = .seconds(10))
            async throws
        {
            try await eventually("\(state), from \(states(of: person, at: observer))", within: limit) {
                states(of: person, at: observer).last == state
            }
        }

        private func typings(of person: Person, at observer: Socket) -> [Bool] {
            observer.events("typing").filter { $0["userId"] == .string(person.id) }.compactMap { $0["active"].bool }
        }

        private func typing(_ expected: [Bool], of person: Person, at observer: Socket, within limit: Duration = .seconds(5))
            async throws
        {
            try await eventually("typing \(expected), from \(typings(of: person, at: observer))", within: limit) {
                typings(of: person, at: observer) == expected
            }
        }
    }
}
