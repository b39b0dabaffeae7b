import ChatActors
import Ports
import RoostModel
import RoostProtocol

/// What a node's sessions hear of news that is no message.
public final class SignalHandler: Sendable {
    /// Pages of a user's conversations that are read to find whom a changed profile concerns.
    private static let pages = 10

    private let backend: Backend
    private let authenticator: Authenticator
    private let registry: SessionRegistry
    private let watches: WatchHub
    private let background: BackgroundWork
    private let setSharesReadReceipts: @Sendable (_ shares: Bool, UserID) -> Void

    public init(
        backend: Backend, authenticator: Authenticator, registry: SessionRegistry, watches: WatchHub,
        background: BackgroundWork,
        setSharesReadReceipts: @escaping @Sendable (_ shares: Bool, UserID) -> Void
    ) {
        self.backend = backend
        self.authenticator = authenticator
        self.registry = registry
        self.watches = watches
        self.background = background
        self.setSharesReadReceipts = setSharesReadReceipts
    }

    /// Any thread.
    public func received(_ signal: Signals.Signal) {
        switch signal {
        case .deviceRevoked(let device): authenticator.revoke(device)
        case .conversationChanged(let conversation, let members):
            for session in members.flatMap(registry.sessions(of:)) {
                session.loop.execute { session.showConversation(conversation) }
            }
        case .userChanged(let user):
            watches.rightsChanged(of: user)
            for session in registry.sessions(of: user) { session.loop.execute { session.recheckWatches() } }
            background.submit { await self.showUser(user) }
        }
    }

    private func showUser(_ id: UserID) async {
        guard let user = (try? await backend.accounts.user(id)) ?? nil else { return }
        setSharesReadReceipts(user.settings.shareReadReceipts, id)
        let event = ServerEvent.user(user, presence: nil)
        for partner in await partners(of: id) where registry.hasSessions(of: partner) { push(event, to: partner) }
    }

    /// Those who share a conversation with the user.
    private func partners(of user: UserID) async -> Set<UserID> {
        var partners: Set<UserID> = []
        var cursor: String?
        for _ in 0..<Self.pages {
            let page = try? await backend.conversations.conversations(
                for: user, archived: false, cursor: cursor, limit: Limits.pageMaximum, at: authenticator.currentTime)
            guard let page else { break }
            for view in page.items { partners.formUnion(view.members.map(\.userID)) }
            cursor = page.nextCursor
            if cursor == nil { break }
        }
        partners.remove(user)
        return partners
    }

    private func push(_ event: [UInt8], to user: UserID) {
        for session in registry.sessions(of: user) { session.loop.execute { session.notify(event) } }
    }
}
