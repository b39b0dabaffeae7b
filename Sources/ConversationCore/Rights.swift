import RoostModel

/// Who may do what in a conversation: the one table, which routes, operations and actors go by.
///
/// What depends on the message in question and not on who asks (too old to delete, deleted already, full) is decided where it is done.
public enum Rights {
    public enum Action: String, Sendable, CaseIterable {
        /// The conversation itself: its title, photo, members' number.
        case see
        /// Messages, changes, receipts, search, members; moving one's position; deleting for oneself.
        case read
        case send
        case react
        case editOwn
        case editAnothers
        case deleteOwn
        case deleteAnothers
        case type
        /// Muting, pinning, archiving, for oneself.
        case changeSettings
        case join
        case leave
        case addMembers
        case removeMember
        case setRole
        case update
        case delete
    }

    /// What an answer depends on.
    public struct Standing: Hashable, Sendable {
        public var kind: ConversationKind
        /// Nil for those who are not members, former ones too.
        public var role: MemberRole?
        /// A direct conversation with a deleted account.
        public var isReadOnly: Bool
        /// One of the two of a direct conversation has blocked the other.
        public var isBlocked: Bool

        public init(kind: ConversationKind, role: MemberRole?, isReadOnly: Bool = false, isBlocked: Bool = false) {
            self.kind = kind
            self.role = role
            self.isReadOnly = isReadOnly
            self.isBlocked = isBlocked
        }
    }

    /// Why not; nil where it is allowed.
    public static func refusal(of action: Action, for standing: Standing) -> ErrorCode? {
        guard let role = standing.role else { return refusalForOutsiders(of: action, kind: standing.kind) }
        switch action {
        case .see, .read, .changeSettings, .deleteOwn: return nil
        case .send, .react, .editOwn:
            if standing.isReadOnly { return .readOnly }
            return standing.isBlocked ? .blocked : nil
        // Nobody is told that they are blocked by typing: it is not passed on.
        case .type: return standing.isReadOnly ? .readOnly : nil
        case .editAnothers: return .forbidden
        case .deleteAnothers: return role == .admin && standing.kind != .direct ? nil : .forbidden
        case .join, .leave: return standing.kind == .direct ? .notAGroup : nil
        case .addMembers, .removeMember, .setRole, .update, .delete:
            if standing.kind == .direct { return .notAGroup }
            return role == .admin ? nil : .forbidden
        }
    }

    /// Anyone finds channels. Of others an outsider learns not even that they exist.
    private static func refusalForOutsiders(of action: Action, kind: ConversationKind) -> ErrorCode? {
        switch kind {
        case .direct, .group: return .notFound
        case .channel:
            switch action {
            case .see, .join: return nil
            case .read, .send, .react, .editOwn, .editAnothers, .deleteOwn, .deleteAnothers, .type, .changeSettings, .leave,
                .addMembers, .removeMember, .setRole, .update, .delete:
                return .notMember
            }
        }
    }
}
