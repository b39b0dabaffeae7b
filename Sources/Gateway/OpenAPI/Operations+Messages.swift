import RoostModel

extension Operation {
    static let messages: [Operation] = [
        Operation(
            .get, "/v1/conversations/{conversationId}/messages", .messages, "A page of messages, ascending by `seq`.",
            query: [
                .seq("before", "Messages before this one."), .seq("after", "Messages after this one."),
                .seq("around", "This message, half of the page before it and half after."), .limit,
            ], .ok(.history), problems: [.notMember]),
        Operation(
            .post, "/v1/conversations/{conversationId}/messages", .messages, "Sends a message, once for each `clientId`.",
            body: .anyOf(
                .request(
                    ["clientId": .text(1...64), "type": .words("text", "image", "audio", "video", "file")],
                    optional: ["text": .text, "mediaId": .id, "replyTo": .position, "mentions": .list(of: .id)]),
                .request(["clientId": .text(1...64), "forward": .object(["conversationId": .id, "seq": .position])])),
            .created(.message), .ok(.message, "It was sent before: the message as it is now."),
            problems: [
                .emptyMessage, .clientIdReused, .readOnly, .blocked, .notMember, .messageDeleted, .mediaNotReady,
            ]),
        Operation(
            .patch, "/v1/conversations/{conversationId}/messages/{seq}", .messages, "Changes the text of an own message.",
            body: .request(["text": .text]), .ok(.message),
            problems: [.forbidden, .notMember, .blocked, .readOnly, .messageDeleted, .emptyMessage]),
        Operation(
            .delete, "/v1/conversations/{conversationId}/messages/{seq}", .messages,
            "Deletes a message for the caller or for everyone.",
            query: [Parameter(name: "scope", schema: .words("me", "everyone"), isRequired: true, description: "For whom.")],
            .ok(.message, "For everyone: the tombstone."), .noContent,
            problems: [.forbidden, .notMember, .deleteWindowClosed]),
        Operation(
            .put, "/v1/conversations/{conversationId}/messages/{seq}/reactions/{emoji}", .messages, "Reacts to a message.",
            .ok(.message),
            problems: [.notMember, .blocked, .readOnly, .messageDeleted, .reactionLimit, .forbidden, .validationFailed]),
        Operation(
            .delete, "/v1/conversations/{conversationId}/messages/{seq}/reactions/{emoji}", .messages, "Takes a reaction back.",
            .ok(.message), problems: [.notMember, .blocked, .readOnly, .messageDeleted, .forbidden, .validationFailed]),
        Operation(
            .get, "/v1/conversations/{conversationId}/messages/{seq}/receipts", .messages, "Who has got and seen a message.",
            .ok(.receipts), problems: [.notMember]),
        Operation(
            .get, "/v1/conversations/{conversationId}/changes", .messages, "Catching up: what changed after a counter's value.",
            query: [.seq("after", "The last value that is known."), .limit], .ok(.changes), problems: [.notMember]),
        Operation(
            .post, "/v1/conversations/{conversationId}/read", .messages, "The caller has read up to here.",
            body: .request(["seq": .position]), .ok(.counts), problems: [.notMember]),
        Operation(
            .post, "/v1/conversations/{conversationId}/delivered", .messages, "The caller has got all up to here.",
            body: .request(["seq": .position]), .ok(.counts), problems: [.notMember]),
        Operation(
            .get, "/v1/search/messages", .messages, "Messages that the caller may read, by their words.",
            query: [
                Parameter.text("query", "Words.").required,
                Parameter(name: "conversationId", schema: .id, description: "Only in this one."), .cursor, .limit,
            ], .ok(.page(of: .object(["message": .message, "snippet": .text]))), problems: [.notFound, .notMember]),
    ]

    static let node: [Operation] = [
        Operation(.get, "/healthz", .node, "Whether the process is well.", .ok(.object(["status": .text]))),
        Operation(
            .get, "/readyz", .node, "Whether clients should be sent here.", .ok(.object(["status": .text])),
            problems: [.unavailable]),
        Operation(.get, "/openapi.json", .node, "This document.", .ok(Schema(["type": "object"]))),
    ]
}
