import RoostModel
import RoostProtocol

/// What the contract has names for.
extension Schema {
    static let session = named("Session")
    static let me = named("Me")
    static let user = named("User")
    static let presence = named("Presence")
    static let device = named("Device")
    static let contact = named("Contact")
    static let conversation = named("Conversation")
    static let member = named("Member")
    static let message = named("Message")
    static let media = named("Media")
    static let problem = named("Problem")

    static let components: KeyValuePairs<String, Schema> = [
        "Session": object([
            "user": me, "deviceId": id, "accessToken": text, "accessTokenExpiresAt": time, "refreshToken": text,
        ]),
        "User": object([
            "id": id, "displayName": text, "firstName": text.nullable, "lastName": text.nullable, "about": text.nullable,
            "photo": media.nullable, "isAnonymous": bool, "isDeleted": bool, "presence": presence.nullable,
        ]),
        "Me": user.and(
            object([
                "email": text.nullable, "emailVerified": bool, "phone": text.nullable, "profileCompleted": bool,
                "settings": object([
                    "shareLastSeen": bool, "shareReadReceipts": bool, "directoryVisible": bool, "pushPreview": bool,
                ]), "createdAt": time,
            ])),
        "Presence": object(["userId": id, "state": words(PresenceState.self), "lastSeenAt": time.nullable]),
        "Device": object([
            "id": id, "name": text.nullable, "platform": text.nullable, "createdAt": time, "lastUsedAt": time, "isCurrent": bool,
            "pushProvider": words("apns", "fcm", "webpush").nullable,
        ]),
        "Contact": object([
            "user": user, "email": text.nullable, "nickname": text.nullable, "photo": media.nullable, "createdAt": time,
        ]),
        "Conversation": object([
            "id": id, "kind": words(ConversationKind.self), "title": text.nullable, "about": text.nullable,
            "photo": media.nullable, "history": words("full", "sinceJoined"), "memberCount": count, "members": list(of: member),
            "lastSeq": counter, "lastMessage": message.nullable, "readSeq": counter, "deliveredSeq": counter,
            "unreadCount": count, "mentionCount": count, "myRole": words(MemberRole.self).nullable,
            "mutedUntil": time.nullable, "pinnedAt": time.nullable, "archivedAt": time.nullable, "lastActivityAt": time,
            "createdAt": time, "isReadOnly": bool,
        ]),
        "Member": object([
            "userId": id, "displayName": text, "photo": media.nullable, "role": words(MemberRole.self), "joinedAt": time,
            "readSeq": counter.nullable, "deliveredSeq": counter,
        ]),
        "Message": object(
            [
                "conversationId": id, "seq": counter, "changeSeq": counter, "clientId": text.nullable, "senderId": id.nullable,
                "type": words(Message.Kind.self), "text": text.nullable, "media": media.nullable,
                "replyTo": object([
                    "seq": counter, "senderId": id.nullable, "type": words(Message.Kind.self), "text": text.nullable,
                    "isDeleted": bool,
                ]).nullable, "forwarded": bool, "mentions": list(of: id),
                "reactions": list(of: object(["emoji": text, "userIds": list(of: id)])), "editedAt": time.nullable,
                "deletedAt": time.nullable, "createdAt": time,
                "system": object(["kind": text, "actorId": id.nullable]).nullable,
            ], optional: ["status": words("sent", "delivered", "read"), "seenByCount": count]),
        "Media": object([
            "id": id, "state": words("processing", "ready", "rejected"), "kind": words("image", "audio", "video", "file"),
            "contentType": text, "fileName": text.nullable, "bytes": count, "width": count.nullable, "height": count.nullable,
            "duration": number.nullable, "blurHash": text.nullable, "waveform": Schema([:]), "url": text.nullable,
            "thumbnailUrl": text.nullable,
        ]),
        "Problem": object(
            ["type": text, "title": text, "status": count, "code": text],
            optional: [
                "detail": text,
                "errors": list(of: object(["field": text, "code": words("required", "invalid", "tooLong", "unknown")])),
                "retryAfterSeconds": count, "requestId": text,
            ]
        ).described("RFC 9457; `code` is the stable word, `detail` is for people."),
    ]

    // MARK: Parts of answers

    static let counts = object(["readSeq": counter, "deliveredSeq": counter, "unreadCount": count, "mentionCount": count])
    static let history = object([
        "items": list(of: message), "hasMoreBefore": bool, "hasMoreAfter": bool, "lastSeq": counter,
    ])
    static let changes = object(["items": list(of: message), "upToSeq": counter, "hasMore": bool])
    static let receipts = object([
        "status": words("sent", "delivered", "read"), "deliveredTo": list(of: object(["userId": id, "at": time])),
        "seenBy": list(of: object(["userId": id, "at": time])),
    ])
    static let sync = object([
        "conversations": list(of: conversation), "removed": list(of: id),
        "hidden": list(of: object(["conversationId": id, "seq": counter])), "token": text, "hasMore": bool,
    ])

    static let export = object([
        "exportedAt": time, "user": me, "devices": list(of: device), "contacts": list(of: contact),
        "blocks": list(of: object(["user": user, "createdAt": time])), "media": list(of: media),
        "conversations": list(
            of: object([
                "conversationId": id, "isMember": bool, "kind": words(ConversationKind.self).nullable, "title": text.nullable,
                "role": words(MemberRole.self).nullable, "joinedAt": time.nullable, "readSeq": counter.nullable,
                "deliveredSeq": counter.nullable, "mutedUntil": time.nullable, "pinnedAt": time.nullable,
                "archivedAt": time.nullable, "messages": list(of: message),
                "reactions": list(of: object(["seq": counter, "emoji": text, "at": time])), "hidden": list(of: counter),
            ])),
    ])

    // MARK: Parts of requests

    /// Of a counter; one beyond it is cut to it, however large.
    static let position = Schema(["type": "integer", "minimum": 0])

    static let email = text(1...1_016).described("An address of at most 254 bytes, compared without case.")
    static let password = text(1...1_024).described("8 to 1,024 bytes of UTF-8 in NFC.")
    static let name = text.described("At most 80 grapheme clusters.")
    static let title = Schema(["type": "string", "minLength": 1]).described("At most 120 grapheme clusters.")
    static let about = text.described("At most 500 grapheme clusters.")
    static let deviceInput = request(optional: ["name": name, "platform": name])
}
