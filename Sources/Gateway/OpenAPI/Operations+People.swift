import RoostModel

extension Operation {
    static let people: [Operation] = [
        Operation(.get, "/v1/me", .people, "The caller.", .ok(.me)),
        Operation(
            .patch, "/v1/me", .people, "Changes the caller's profile and settings; null clears.",
            body: .request(optional: [
                "firstName": .name, "lastName": .name, "displayName": .name, "phone": .text, "about": .about,
                "photoMediaId": .id,
                "settings": .request(optional: [
                    "shareLastSeen": .bool, "shareReadReceipts": .bool, "directoryVisible": .bool, "pushPreview": .bool,
                ]),
            ]), .ok(.me), problems: [.mediaNotReady]),
        Operation(
            .delete, "/v1/me", .people, "Deletes the caller's account. Guests give no password.",
            body: .request(optional: ["password": .text]), .noContent, problems: [.wrongPassword]),
        Operation(.get, "/v1/me/export", .people, "All that is held about the caller.", .ok(.export)),
        Operation(
            .get, "/v1/users", .people, "The directory, by name.",
            query: [.text("query", "The beginning of any word of a name."), .cursor, .limit], .ok(.page(of: .user))),
        Operation(.get, "/v1/users/{userId}", .people, "A user that the caller may see.", .ok(.user)),
        Operation(
            .get, "/v1/users/lookup", .people, "The user with exactly this email.",
            query: [Parameter.text("email", "The whole address.").required], .ok(.user), problems: [.notFound]),
        Operation(
            .get, "/v1/contacts", .people, "The caller's address book.", query: [.cursor, .limit], .ok(.page(of: .contact))),
        Operation(
            .post, "/v1/contacts", .people, "Adds a user, by email or id.",
            body: .request(optional: ["email": .text, "userId": .id, "nickname": .name, "photoMediaId": .id]),
            .created(.contact), problems: [.alreadyContact, .cannotAddSelf, .notFound, .mediaNotReady]),
        Operation(
            .patch, "/v1/contacts/{userId}", .people, "Changes what a contact is called and shown with; null clears.",
            body: .request(optional: ["nickname": .name, "photoMediaId": .id]), .ok(.contact), problems: [.mediaNotReady]),
        Operation(.delete, "/v1/contacts/{userId}", .people, "Takes a user out of the address book.", .noContent),
        Operation(
            .get, "/v1/blocks", .people, "Whom the caller blocks.", query: [.cursor, .limit],
            .ok(.page(of: .object(["user": .user, "createdAt": .time])))),
        Operation(
            .put, "/v1/blocks/{userId}", .people, "Blocks a user.", .noContent, problems: [.cannotAddSelf, .validationFailed]),
        Operation(.delete, "/v1/blocks/{userId}", .people, "Blocks a user no more.", .noContent),
        Operation(
            .get, "/v1/presence", .people, "The presence of those users that the caller may see.",
            query: [Parameter.text("userIds", "Ids, separated by commas.").required], .ok(.items(of: .presence))),
    ]
}
