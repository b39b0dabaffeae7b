import ChatActors
import Ports
import RoostModel
import RoostProtocol

/// What a node's sessions hear of news that is no message.
public final class SignalHandler: Sendable {
    /// How many hear of a changed profile at once, at most; others learn of it when they look.
    private static let partnerLimit = 50_000

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
        case .blockChanged(let one, let other): watches.blockChanged(between: one, and: other)
        case .userDeleted(let user, let conversation):
            background.submit { await self.showDeleted(user, from: conversation) }
        }
    }

    private func showUser(_ id: UserID) async {
        guard let user = (try? await backend.accounts.user(id)) ?? nil else { return }
        setSharesReadReceipts(user.settings.shareReadReceipts, id)
        let partners = try? await backend.accounts.partners(of: id, limit: Self.partnerLimit)
        show(user, to: partners ?? [])
    }

    /// The user may have left the conversation by now, so its members are asked for, and not the user's partners.
    private func showDeleted(_ id: UserID, from conversation: ConversationID) async {
        guard let user = (try? await backend.accounts.user(id)) ?? nil, user.isDeleted else { return }
        let members = try? await backend.accounts.members(of: conversation, limit: Self.partnerLimit)
        show(user, to: members ?? [])
    }

    private func show(_ user: User, to others: [UserID]) {
        let event = ServerEvent.user(user, presence: nil)
        for other in others where other != user.id && registry.hasSessions(of: other) { push(event, to: other) }
    }

    private func push(_ event: [UInt8], to user: UserID) {
        for session in registry.sessions(of: user) { session.loop.execute { session.notify(event) } }
    }
}
