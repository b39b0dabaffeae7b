import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

@Suite struct ExportTests {
    @Test(arguments: [true, false]) func allThatIsHeldIsExported(byOperator: Bool) async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            let zoe = try await client.register("zoe@x.example", name: "Zoë")
            func call(_ method: String, _ path: String, _ json: String? = nil) async throws {
                let answer = try await client.call(method, path, token: bob.token, json)
                #expect(answer.status < 300, "\(method) \(path): \(answer.status)")
            }
            for email in ["eve@x.example", "zoe@x.example"] { try await call("POST", "/v1/contacts", #"{"email":"\#(email)"}"#) }
            try await call("PUT", "/v1/blocks/\(zoe.id)")
            let media = Media(
                id: .make(), ownerID: UserID(bob.id)!, state: .ready, kind: .image, contentType: "image/png", bytes: 1)
            world.database.addMedia(media)
            let chat = try await client.openDirect(bob, with: eve)
            for index in 0..<150 { _ = try await client.post("mine \(index)", clientID: "\(index)", by: bob, in: chat) }
            _ = try await client.post("theirs", clientID: "1", by: eve, in: chat)
            try await call("PUT", "/v1/conversations/\(chat)/messages/151/reactions/%F0%9F%91%8D")
            try await call("DELETE", "/v1/conversations/\(chat)/messages/151?scope=me")
            try await call("POST", "/v1/conversations", #"{"kind":"group","title":"Group","memberIds":["\#(eve.id)"]}"#)

            let export: Answer
            if byOperator {
                let admin = AdminClient(gateway: world.admin)
                let path = "/admin/v1/users/\(bob.id)/export"
                export = try await admin.call("GET", path, token: World.adminToken)
                let audit = try await admin.call("GET", "/admin/v1/audit", token: World.adminToken)
                #expect(audit.items.first?["action"]?.string == "user.export")
                let unknown = "/admin/v1/users/\(UserID.make())/export"
                #expect(try await admin.call("GET", unknown, token: World.adminToken).status == 404)
            } else {
                export = try await client.call("GET", "/v1/me/export", token: bob.token)
            }
            #expect(export.status == 200 && export.header("Content-Type") == "application/json")
            #expect(export["user"]?["email"]?.string == "bob@x.example")
            #expect(export["devices"]?.array?.map { $0["id"]?.string } == [bob.device])
            #expect(export["contacts"]?.array?.map { $0["email"]?.string } == ["eve@x.example", "zoe@x.example"])
            #expect(export["blocks"]?.array?.map { $0["user"]?["id"]?.string } == [zoe.id])
            #expect(export["media"]?.array?.map { $0["id"]?.string } == [media.id.description])
            let conversations = try #require(export["conversations"]?.array)
            #expect(conversations.count == 2)
            let direct = try #require(conversations.first { $0["conversationId"]?.string == chat })
            #expect(direct["messages"]?.array?.compactMap { $0["text"]?.string } == (0..<150).map { "mine \($0)" })
            #expect(direct["reactions"]?.array?.map { $0["emoji"]?.string } == ["👍"])
            #expect(direct["hidden"]?.array?.map(\.integer) == [151])
            let group = try #require(conversations.first { $0["conversationId"]?.string != chat })
            #expect(group["role"]?.string == "admin" && group["title"]?.string == "Group" && group["joinedAt"]?.string != nil)
            #expect(!String(decoding: export.body, as: UTF8.self).contains("theirs"), "nothing of others")
        }
    }

    @Test func aBoundedNumberIsSentAtOnce() throws {
        let slots = ExportSlots(limit: 2, metrics: .init())
        var held = [try slots.take(), try slots.take()]
        #expect(throws: RoostError.self) { try slots.take() }
        held.removeLast()
        held.append(try slots.take())
        #expect(held.count == 2)
    }

    @Test func photosCompleteProfilesAndStandWithContacts() async throws {
        try await withGateway(.router) { world, client in
            let bob = try await client.register("bob@x.example", name: "Bob")
            let eve = try await client.register("eve@x.example", name: "Eve")
            func media(_ owner: Account, _ state: Media.State = .ready, _ kind: Media.Kind = .image) -> String {
                let media = Media(
                    id: .make(), ownerID: UserID(owner.id)!, state: state, kind: kind, contentType: "image/png", bytes: 1)
                world.database.addMedia(media)
                return media.id.description
            }
            func patch(_ json: String) async throws -> Answer { try await client.call("PATCH", "/v1/me", token: bob.token, json) }
            let photo = media(bob)
            #expect(try await patch(#"{"photoMediaId":"\#(media(eve))"}"#).faults == ["photoMediaId:unknown"])
            #expect(try await patch(#"{"photoMediaId":"\#(media(bob, .processing))"}"#).code == "mediaNotReady")
            #expect(try await patch(#"{"photoMediaId":"\#(media(bob, .ready, .file))"}"#).faults == ["photoMediaId:invalid"])
            let names = try await patch(#"{"firstName":"B","lastName":"B","phone":"12345"}"#)
            #expect(names["profileCompleted"] == .bool(false) && names["photo"] == .null)
            let complete = try await patch(#"{"photoMediaId":"\#(photo)"}"#)
            #expect(complete["profileCompleted"] == .bool(true) && complete["photo"]?["id"]?.string == photo)
            let seen = try await client.call("GET", "/v1/users/\(bob.id)", token: eve.token)
            #expect(seen["photo"]?["id"]?.string == photo)
            let cleared = try await patch(#"{"photoMediaId":null,"phone":null}"#)
            #expect(cleared["profileCompleted"] == .bool(true) && cleared["photo"] == .null, "and never back")

            let own = media(eve)
            let contact = try await client.call(
                "POST", "/v1/contacts", token: eve.token, #"{"userId":"\#(bob.id)","photoMediaId":"\#(own)"}"#)
            #expect(contact["photo"]?["id"]?.string == own && contact["user"]?["photo"] == .null)
            func change(_ json: String) async throws -> Answer {
                try await client.call("PATCH", "/v1/contacts/\(bob.id)", token: eve.token, json)
            }
            #expect(try await change(#"{"nickname":"B"}"#)["photo"]?["id"]?.string == own)
            #expect(try await change(#"{"photoMediaId":"\#(photo)"}"#).faults == ["photoMediaId:unknown"])
            #expect(try await change(#"{"photoMediaId":null}"#)["photo"] == .null)
        }
    }
}
