import RoostModel

extension Operation {
    private static let page: [Parameter] = [.cursor, .limit]

    static let conversations: [Operation] = [
        Operation(
            .get, "/v1/conversations", .conversations, "The caller's conversations, newest activity first, pinned before all.",
            query: [.flag("archived", "True for the archived ones only.")] + page, .ok(.page(of: .conversation))),
        Operation(
            .post, "/v1/conversations", .conversations, "Opens a direct conversation, or makes a group or channel.",
            body: .anyOf(
                .request(["kind": .words("direct"), "userId": .id]),
                .request(
                    ["kind": .words("group"), "title": .title, "memberIds": .list(of: .id)],
                    optional: ["photoMediaId": .id, "history": .words("full", "sinceJoined")]),
                .request(["kind": .words("channel"), "title": .title], optional: ["about": .about])),
            .created(.conversation), .ok(.conversation, "The direct conversation that there was."),
            problems: [.cannotChatWithSelf, .guestNotAllowed, .memberLimit, .mediaNotReady]),
        Operation(
            .get, "/v1/channels", .conversations, "Channels, by title.",
            query: [.text("query", "The beginning of any word of a title.")] + page, .ok(.page(of: .conversation))),
        Operation(
            .post, "/v1/conversations/{conversationId}/join", .conversations, "Joins a channel.", .ok(.conversation),
            problems: [.memberLimit, .notAGroup, .forbidden]),
        Operation(.get, "/v1/conversations/{conversationId}", .conversations, "One conversation.", .ok(.conversation)),
        Operation(
            .patch, "/v1/conversations/{conversationId}", .conversations, "Changes a group or channel; null clears.",
            body: .request(optional: [
                "title": .title, "photoMediaId": .id, "about": .about, "history": .words("full", "sinceJoined"),
            ]), .ok(.conversation), problems: [.forbidden, .notMember, .notAGroup, .mediaNotReady]),
        Operation(
            .delete, "/v1/conversations/{conversationId}", .conversations, "Deletes a group or channel for all.", .noContent,
            problems: [.forbidden, .notMember, .notAGroup]),
        Operation(
            .patch, "/v1/conversations/{conversationId}/settings", .conversations, "Changes what only the caller sees of it.",
            body: .request(optional: ["mutedUntil": .time, "pinned": .bool, "archived": .bool]), .ok(.conversation),
            problems: [.notMember]),
        Operation(
            .get, "/v1/conversations/{conversationId}/members", .conversations, "The members.", query: page,
            .ok(.page(of: .member)), problems: [.notMember]),
        Operation(
            .post, "/v1/conversations/{conversationId}/members", .conversations, "Adds users, all or none.",
            body: .request(["userIds": .list(of: .id)]), .ok(.conversation),
            problems: [.forbidden, .notMember, .memberLimit, .notAGroup]),
        Operation(
            .patch, "/v1/conversations/{conversationId}/members/{userId}", .conversations, "Changes a member's role.",
            body: .request(["role": .words(MemberRole.self)]), .ok(.member), problems: [.forbidden, .notMember, .notAGroup]),
        Operation(
            .delete, "/v1/conversations/{conversationId}/members/{userId}", .conversations, "Removes a member, or leaves.",
            .noContent, problems: [.forbidden, .notMember, .notAGroup]),
        Operation(
            .get, "/v1/sync", .conversations, "All that changed for the caller since a token; without one, everything.",
            query: [.text("since", "The `token` of the sync before."), .limit], .ok(.sync)),
    ]
}
