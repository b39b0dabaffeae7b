import RoostModel
import RoostProtocol
import Testing

/// Groups and channels over two whole nodes: what members are told, and in which order.
@Suite struct GroupTests {
    @Test func aRemovedMembersLastEventIsTheRemoval() async throws {
        try await withCluster(2) { cluster in
            let group = try await TestGroup(cluster, members: 2)
            let (bob, eve) = (group.members[0], group.members[1])
            let session = try await cluster.session(eve, at: 1)
            let other = try await cluster.session(bob)
            try await group.send("before")
            try await group.remove(eve, by: group.admin)
            try await group.send("after")
            var seen: [String] = []
            while true {
                let frame = try #require(try await session.next())
                if case .message(_, _, let message) = frame { seen.append(message?.text ?? "-") }
                if case .conversationRemoved(let id) = frame {
                    #expect(id == group.id)
                    break
                }
            }
            #expect(seen == ["before"])
            // The count goes on for the others, without a hole.
            var seqs: [Int64] = []
            while seqs.count < 3 { seqs.append(try await other.messageSeq().value) }
            #expect(seqs == [2, 3, 4])
            for (path, method) in [("", "GET"), ("/messages", "GET"), ("/members", "GET"), ("/changes", "GET")] {
                let answer = try await group.call(method, path, as: eve, at: 1)
                #expect(answer.status == 404, "\(path)")
            }
            #expect(try await group.post("x", as: eve).status == 404)
        }
    }

    @Test func nobodyIsToldThatSomebodyTypesNoLongerWhereTheyAreNoMember() async throws {
        try await withCluster(2) { cluster in
            let group = try await TestGroup(cluster, members: 2)
            let (bob, eve) = (group.members[0], group.members[1])
            let session = try await cluster.session(eve, at: 1)
            let typist = try await cluster.session(bob)
            await typist.send(.typing(conversationID: group.id, isActive: true))
            try await session.first { if case .typing(_, _, true) = $0 { () } else { nil } }
            try await group.remove(eve, by: group.admin)
            try await session.first { if case .conversationRemoved = $0 { () } else { nil } }
            // With the owner of the conversation gone, sessions end by themselves what they show.
            cluster.own(1, version: 2)
            await session.send(.ping, id: 7)
            let next = try await session.next()
            guard case .answer(let id, _) = next, id == FrameID(7) else { throw Unexpected("\(String(describing: next))") }
        }
    }

    @Test func whoeverLeavesComesBackToANewCount() async throws {
        try await withCluster(2) { cluster in
            let group = try await TestGroup(cluster, members: 1)
            let bob = group.members[0]
            let session = try await cluster.session(bob, at: 1)
            try await group.remove(bob, by: bob)
            let left = try await session.first { if case .conversationRemoved(let id) = $0 { id } else { nil } }
            #expect(left == group.id)
            try await group.send("unseen")
            let added = try await group.call("POST", "/members", #"{"userIds":["\#(bob.user.id)"]}"#, as: group.admin)
            #expect(added.status == 200)
            #expect(try ConversationView.decode(added.body).memberCount == 2)
            // First the message of joining itself.
            #expect(try await session.messageSeq() == Seq(4))
            try await group.send("seen")
            #expect(try await session.messageSeq() == Seq(5))
        }
    }

    @Test func membersWhoJoinedLaterSeeNoOlderMessageWhereHistoryBeginsWithJoining() async throws {
        try await withCluster(2) { cluster in
            let group = try await TestGroup(cluster, members: 1, more: #","history":"sinceJoined""#)
            let late = try await cluster.registered()
            try await group.send("old")
            _ = try await group.call("POST", "/members", #"{"userIds":["\#(late.user.id)"]}"#, as: group.admin)
            let session = try await cluster.session(late, at: 1)
            // A change of the old message, and an answer to it.
            #expect(try await group.call("PATCH", "/messages/2", #"{"text":"older"}"#, as: group.admin).status == 200)
            #expect(try await group.post("answer", as: group.admin, more: #","replyTo":2"#).status == 201)
            let edited = try await session.first { frame -> (Seq, Message?)? in
                if case .message(_, let seq, let message) = frame { (seq, message) } else { nil }
            }
            #expect(edited.0 == Seq(4) && edited.1 == nil)
            let answer = try await session.first { frame -> Message? in
                if case .message(_, _, let message) = frame { message } else { nil }
            }
            #expect(answer.text == "answer" && answer.replyTo == nil)
            let history = try HistoryPage.decode(try await group.call("GET", "/messages", as: late).body)
            #expect(history.items.map(\.message.seq.value) == [3, 5])
            #expect(history.items.last?.message.replyTo == nil)
            let before = try HistoryPage.decode(try await group.call("GET", "/messages", as: group.admin).body)
            #expect(before.items.last?.message.replyTo?.text == "older")
            #expect(try await group.call("PUT", "/messages/2/reactions/%F0%9F%91%8D", as: late).status == 404)
            #expect(try await group.post("x", as: late, more: #","replyTo":2"#).status == 422)
        }
    }

    @Test func theLastAdminLeavesAndTheLongestStandingFollows() async throws {
        try await withCluster(1) { cluster in
            let group = try await TestGroup(cluster, members: 2)
            try await group.remove(group.admin, by: group.admin)
            let view = try ConversationView.decode(try await group.call("GET", "", as: group.members[0]).body)
            #expect(view.members.count == 2)
            #expect(view.members.filter { $0.role == .admin }.count == 1)
            // Leaving took one value, the promotion another.
            #expect(view.lastSeq == Seq(3))
            for member in group.members { try await group.remove(member, by: member) }
            #expect(try await group.call("GET", "", as: group.members[0]).status == 404)
        }
    }

    @Test func whoeverFollowsTheLastAdminOfAChannelIsShownTheirRole() async throws {
        try await withCluster(2) { cluster in
            let (founder, guest) = (try await cluster.registered(), try await cluster.anonymous())
            let made = try await cluster.request(
                "POST", "/v1/conversations", #"{"kind":"channel","title":"Walls"}"#, token: founder.accessToken)
            let channel = TestGroup(
                cluster, id: try ConversationView.decode(made.body).id, admin: founder, members: [guest])
            #expect(try await channel.call("POST", "/join", as: guest).status == 200)
            let session = try await cluster.session(guest, at: 1)
            try await channel.remove(founder, by: founder)
            let view = try await session.first { if case .conversation(let view) = $0 { view } else { nil } }
            #expect(view.id == channel.id && view.myRole == .admin && view.memberCount == 1)
        }
    }

    @Test func deletingForOneselfIsForAllDevicesAndNobodyElse() async throws {
        try await withCluster(2) { cluster in
            let group = try await TestGroup(cluster, members: 1)
            let bob = group.members[0]
            try await group.send("secret")
            let session = try await cluster.session(bob, at: 1)
            #expect(try await group.call("DELETE", "/messages/2?scope=me", as: bob).status == 204)
            #expect(try await group.call("DELETE", "/messages/2?scope=me", as: bob).status == 204)
            let hidden = try await session.first { if case .hidden(let hidden) = $0 { hidden } else { nil } }
            #expect(hidden == HiddenMessage(conversationID: group.id, seq: Seq(2)))
            #expect(try HistoryPage.decode(try await group.call("GET", "/messages", as: bob).body).items.count == 1)
            #expect(try HistoryPage.decode(try await group.call("GET", "/messages", as: group.admin).body).items.count == 2)
            let view = try ConversationView.decode(try await group.call("GET", "", as: bob).body)
            #expect(view.unreadCount == 0 && view.lastMessage?.seq == Seq(1))
            // For whoever hid it a change shows only that the count goes on.
            _ = try await group.call("PATCH", "/messages/2", #"{"text":"changed"}"#, as: group.admin)
            let event = try await session.first { frame -> (Seq, Message?)? in
                if case .message(_, let seq, let message) = frame { (seq, message) } else { nil }
            }
            #expect(event.0 == Seq(3) && event.1 == nil)
        }
    }

    @Test func anyoneFindsAChannelAndReadsItOnceJoined() async throws {
        try await withCluster(1) { cluster in
            let founder = try await cluster.registered()
            let guest = try await cluster.anonymous()
            let made = try await cluster.request(
                "POST", "/v1/conversations", #"{"kind":"channel","title":"Zürich Climbing","about":"walls"}"#,
                token: founder.accessToken)
            #expect(made.status == 201)
            let id = try ConversationView.decode(made.body).id
            let found = try await cluster.request("GET", "/v1/channels?query=clim", nil, token: guest.accessToken)
            let page = try Page<ConversationView>.decode(found.body)
            #expect(page.items.map(\.id) == [id] && page.items.first?.myRole == nil && page.items.first?.memberCount == 1)
            let channel = TestGroup(cluster, id: id, admin: founder, members: [guest])
            #expect(try await channel.call("GET", "", as: guest).status == 200)
            let refused = try await channel.call("GET", "/messages", as: guest)
            #expect(refused.status == 403 && String(decoding: refused.body, as: UTF8.self).contains("notMember"))
            #expect(try await channel.call("POST", "/join", as: guest).status == 200)
            #expect(try await channel.call("POST", "/join", as: guest).status == 200)
            #expect(try await channel.post("hi", as: guest).status == 201)
            let view = try ConversationView.decode(try await channel.call("GET", "", as: founder).body)
            #expect(view.memberCount == 2 && view.members.isEmpty && view.lastSeq == Seq(3) && view.unreadCount == 1)
        }
    }
}

/// A group and the people in it.
struct TestGroup {
    let cluster: TestCluster
    let id: ConversationID
    let admin: AuthSession
    let members: [AuthSession]

    init(_ cluster: TestCluster, id: ConversationID, admin: AuthSession, members: [AuthSession]) {
        self.cluster = cluster
        self.id = id
        self.admin = admin
        self.members = members
    }

    init(_ cluster: TestCluster, members count: Int, more: String = "") async throws {
        let admin = try await cluster.registered()
        var members: [AuthSession] = []
        for _ in 0..<count { members.append(try await cluster.registered()) }
        let ids = members.map { #""\#($0.user.id)""# }.joined(separator: ",")
        let response = try await cluster.request(
            "POST", "/v1/conversations", #"{"kind":"group","title":"Friends","memberIds":[\#(ids)]\#(more)}"#,
            token: admin.accessToken)
        guard response.status == 201 else { throw Unexpected("no group: \(response.status)") }
        self.init(cluster, id: try ConversationView.decode(response.body).id, admin: admin, members: members)
    }

    func call(
        _ method: String, _ path: String, _ body: String? = nil, as user: AuthSession, at node: Int = 0
    ) async throws -> HTTPAnswer {
        let response = try await cluster.request(
            method, "/v1/conversations/\(id)\(path)", body, token: user.accessToken, at: node)
        return HTTPAnswer(status: response.status, body: response.body)
    }

    func post(_ text: String, as user: AuthSession, more: String = "") async throws -> HTTPAnswer {
        try await call(
            "POST", "/messages", #"{"clientId":"\#(UserID.make())","type":"text","text":"\#(text)"\#(more)}"#, as: user)
    }

    func send(_ text: String) async throws {
        guard try await post(text, as: admin).status == 201 else { throw Unexpected("not sent") }
    }

    func remove(_ member: AuthSession, by user: AuthSession) async throws {
        guard try await call("DELETE", "/members/\(member.user.id)", as: user).status == 204 else {
            throw Unexpected("not removed")
        }
    }
}

struct HTTPAnswer {
    let status: Int
    let body: [UInt8]
}
