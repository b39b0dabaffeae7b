import RoostModel

/// Expressions that several statements share.
enum ConversationSQL {
    /// The counter of conversation `alias`: from its row when settled, else from its messages, by two index probes.
    static func head(_ alias: String) -> String {
        "CASE WHEN \(alias).is_active THEN GREATEST(\(alias).last_seq, \(storedHead("\(alias).id"))) ELSE \(alias).last_seq END"
    }

    /// The greatest counter value among a conversation's messages, 0 without any.
    static func storedHead(_ conversation: String) -> String {
        """
        GREATEST(0, \
        (SELECT h.seq FROM messages h WHERE h.conversation_id = \(conversation) ORDER BY h.seq DESC LIMIT 1), \
        (SELECT h.change_seq FROM messages h WHERE h.conversation_id = \(conversation) AND h.change_seq > h.seq \
        ORDER BY h.change_seq DESC LIMIT 1))
        """
    }

    /// The time of conversation `alias`'s newest message.
    static func activity(_ alias: String) -> String {
        """
        COALESCE(CASE WHEN \(alias).is_active THEN (SELECT n.created_at FROM messages n \
        WHERE n.conversation_id = \(alias).id ORDER BY n.seq DESC LIMIT 1) END, \(alias).last_activity_at)
        """
    }

    /// The lowest value of the counter that member `me` of conversation `c` sees.
    static let floor =
        "CASE WHEN c.history = \(HistorySetting.full.stored) THEN 0 ELSE me.since_seq END"

    /// The member `me` of conversation `c`, as a reader of messages.
    static let me = MessageReader.user("me.user_id", floor: floor)

    /// One exact probe for each message, which the offset ensures: else all that the user has hidden in the conversation may be compared
    /// with each of its messages.
    static func isHidden(_ seq: String, of conversation: String, from user: String) -> String {
        """
        EXISTS (SELECT FROM hidden x \
        WHERE x.conversation_id = \(conversation) AND x.user_id = \(user) AND x.seq = \(seq) OFFSET 0)
        """
    }

    /// Whether member `me` of conversation `c` sees its message `alias`.
    static func isSeen(_ alias: String) -> String {
        "\(alias).seq >= \(floor) AND NOT \(isHidden("\(alias).seq", of: "me.conversation_id", from: "me.user_id"))"
    }

    /// When member `me` archived conversation `c`; null where another member's message has ended that since. Those that came
    /// while it was muted do not; `changeSettings` takes care that only the present muting matters.
    static let archivedAt = """
        CASE WHEN me.archived_at IS NOT NULL AND NOT EXISTS (
            SELECT FROM messages n
            WHERE n.conversation_id = me.conversation_id AND n.seq > me.archived_seq AND n.sender_id <> me.user_id
                AND n.kind <> \(Message.Kind.system.stored) AND (me.muted_until IS NULL OR n.created_at >= me.muted_until)
        ) THEN me.archived_at END
        """

    /// A member `o`'s read position as `self` may know it, where `u` is the member's account: not where either of the two keeps read
    /// receipts to themselves.
    static let sharedRead =
        "CASE WHEN o.user_id = self.id OR (u.share_read_receipts AND self.share_read_receipts) THEN o.read_seq END"

    /// The order of joining. Aggregates get their rows from a table that is sorted so: each with an order of its own would sort for itself.
    static let joining = "o.joined_at, o.since_seq, o.user_id"
}
