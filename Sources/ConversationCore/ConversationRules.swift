import RoostModel

/// The numbers that operators may set.
public struct ConversationRules: Hashable, Sendable {
    /// How long a sender may delete a message for everyone.
    public var deleteWindow: Duration
    public var groupMembers: Int
    public var channelMembers: Int
    /// Different emoji under one message.
    public var reactions: Int

    public init(
        deleteWindow: Duration = .seconds(86_400), groupMembers: Int = Limits.groupMembers,
        channelMembers: Int = Limits.channelMembers, reactions: Int = Limits.reactionsPerMessage
    ) {
        self.deleteWindow = deleteWindow
        self.groupMembers = groupMembers
        self.channelMembers = channelMembers
        self.reactions = reactions
    }

    func memberLimit(of kind: ConversationKind) -> Int {
        switch kind {
        case .direct: 2
        case .group: groupMembers
        case .channel: channelMembers
        }
    }
}
