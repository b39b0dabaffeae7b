import RoostModel

extension JSONWriter {
    /// `{"user", "email", "nickname", "photo", "createdAt"}`
    public mutating func contact(_ contact: Contact, presence: Presence?) {
        object { writer in
            writer.key("user")
            writer.user(contact.user, presence: presence)
            writer.member("email", contact.email)
            writer.member("nickname", contact.nickname)
            writer.member("photo", contact.photo)
            writer.member("createdAt", contact.createdAt)
        }
    }

    /// `{"user", "createdAt"}`; whoever is blocked is seen offline.
    public mutating func block(_ block: Block) {
        object { writer in
            writer.key("user")
            writer.user(block.user, presence: Presence(userID: block.user.id, state: .offline, lastSeenAt: nil))
            writer.member("createdAt", block.createdAt)
        }
    }
}
