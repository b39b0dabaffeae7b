import ActorRuntime
import ChatActors
import EventLoop
import Ports
import RoostModel
import RoostProtocol
import Runtime

/// Who on this node watches whose presence. Each watched user is watched once for the whole node; news is spread from here.
///
/// The methods may be called on any thread; the state is confined to the endpoint's loop.
public final class WatchHub: @unchecked Sendable {
    private struct Watcher {
        weak var session: Session?
        let caller: UserID
        var sight: Sight
    }

    private struct Watched {
        var fact: PresenceFact?
        var watchers: [SessionID: Watcher] = [:]
        /// Who waits for the first fact.
        var waiting: [(Result<PresenceFact, RoostError>) -> Void] = []
    }

    private let endpoint: Endpoint
    private let chat: ChatClient
    private let backend: Backend
    private let executor: RequestExecutor
    private var watched: [UserID: Watched] = [:]

    private var loop: EventLoop { endpoint.loop }

    public init(endpoint: Endpoint, chat: ChatClient, backend: Backend, executor: RequestExecutor) {
        self.endpoint = endpoint
        self.chat = chat
        self.backend = backend
        self.executor = executor
    }

    // MARK: Sessions

    /// Watches those of `users` that the caller may see. `completion` runs on the session's loop with how they stand.
    func watch(
        _ users: [UserID], for session: Session, _ caller: Caller,
        completion: @escaping @Sendable (Result<[Presence], RoostError>) -> Void
    ) {
        let backend = backend
        executor.run {
            await Self.permission(for: caller.userID, to: users, backend)
        } answer: { [self] result in
            switch result.flatMap({ $0 }) {
            case .failure(let error): session.loop.execute { completion(.failure(error)) }
            case .success(let permission): loop.execute { self.begin(permission, session, caller.userID, completion) }
            }
        }
    }

    /// What the caller may know of each user.
    private struct Permission: Sendable {
        struct Entry: Sendable {
            let user: UserID
            let sight: Sight
            let lastSeenAt: Timestamp?
        }
        var entries: [Entry] = []
    }

    private static func permission(
        for caller: UserID, to users: [UserID], _ backend: Backend
    ) async -> Result<Permission, RoostError> {
        do throws(RoostError) {
            let visible = try await backend.ask { () throws(StoreError) in
                try await backend.accounts.visible(users, to: caller)
            }
            let shown = users.filter(visible.contains)
            let records = try await backend.ask { () throws(StoreError) in try await backend.accounts.users(shown + [caller]) }
            let blocked = try await backend.ask { () throws(StoreError) in
                try await backend.contacts.blocked(shown, with: caller)
            }
            let sharing = Set(records.filter { $0.settings.shareLastSeen }.map(\.id))
            let lastSeen = try await backend.ask { () throws(StoreError) in
                try await backend.accounts.lastSeen(shown.filter(sharing.contains))
            }
            var seen: Set<UserID> = []
            return .success(
                Permission(
                    entries: shown.filter { seen.insert($0).inserted }.map { user in
                        let shares = sharing.contains(user) && sharing.contains(caller)
                        let sight: Sight = blocked.contains(user) ? .nothing : shares ? .all : .stateOnly
                        return .init(user: user, sight: sight, lastSeenAt: lastSeen[user])
                    }))
        } catch {
            return .failure(error)
        }
    }

    private func begin(
        _ permission: Permission, _ session: Session, _ caller: UserID,
        _ completion: @escaping @Sendable (Result<[Presence], RoostError>) -> Void
    ) {
        guard !permission.entries.isEmpty else { return session.loop.execute { completion(.success([])) } }
        var presence: [UserID: Presence] = [:]
        var remaining = permission.entries.count
        var failure: RoostError?
        for entry in permission.entries {
            let watcher = Watcher(session: session, caller: caller, sight: entry.sight)
            add(watcher, session.sessionID, to: entry.user) { result in
                switch result {
                case .failure(let error): failure = error
                case .success(let fact):
                    presence[entry.user] = fact.presence(entry.sight, earlier: entry.lastSeenAt)
                }
                remaining -= 1
                guard remaining == 0 else { return }
                let answer: Result<[Presence], RoostError> =
                    failure.map { .failure($0) } ?? .success(permission.entries.compactMap { presence[$0.user] })
                session.loop.execute { completion(answer) }
            }
        }
    }

    private func add(
        _ watcher: Watcher, _ session: SessionID, to user: UserID,
        _ completion: @escaping (Result<PresenceFact, RoostError>) -> Void
    ) {
        var entry = watched[user] ?? Watched()
        entry.watchers[session] = watcher
        if let fact = entry.fact {
            watched[user] = entry
            return completion(.success(fact))
        }
        entry.waiting.append(completion)
        watched[user] = entry
        if entry.waiting.count == 1 { ask(user) }
    }

    private func ask(_ user: UserID) {
        chat.watch(user, known: watched[user]?.fact?.state, from: endpoint) { [self] result in
            guard var entry = watched[user] else { return }
            let waiting = entry.waiting
            entry.waiting = []
            watched[user] = entry
            if case .success(let fact) = result { update(fact, isAnswer: true) }
            if case .failure = result { retryLater(user) }
            for completion in waiting { completion(result) }
        }
    }

    private func retryLater(_ user: UserID) {
        loop.schedule(after: .seconds(2)) { [self] in
            guard watched[user] != nil else { return }
            ask(user)
        }
    }

    /// The session no longer watches `users`, or has ended.
    func drop(_ session: Session, _ users: Set<UserID>) {
        guard !users.isEmpty else { return }
        let id = session.sessionID
        loop.execute { [self] in
            for user in users {
                guard var entry = watched[user] else { continue }
                entry.watchers[id] = nil
                if entry.watchers.isEmpty {
                    watched[user] = nil
                    for completion in entry.waiting { completion(.failure(.unavailable)) }
                    chat.unwatch(user, from: endpoint)
                } else {
                    watched[user] = entry
                }
            }
        }
    }

    // MARK: Rights that change

    /// A user's settings changed: whoever watches them may now see less of them, or more.
    public func rightsChanged(of user: UserID) {
        loop.execute { [self] in
            for (_, watcher) in watched[user]?.watchers ?? [:] {
                if let session = watcher.session { recheck([user], for: session, watcher.caller) }
            }
        }
    }

    /// One of the two blocks the other now, or no longer.
    public func blockChanged(between one: UserID, and other: UserID) {
        loop.execute { [self] in
            for (user, caller) in [(one, other), (other, one)] {
                for (_, watcher) in watched[user]?.watchers ?? [:] where watcher.caller == caller {
                    if let session = watcher.session { recheck([user], for: session, caller) }
                }
            }
        }
    }

    /// Asks again what `caller` may know of users that the session watches.
    func recheck(_ users: [UserID], for session: Session, _ caller: UserID) {
        let (backend, id) = (backend, session.sessionID)
        executor.run {
            await Self.permission(for: caller, to: users, backend)
        } answer: { [self] result in
            // Where it cannot be known, the more careful answer holds.
            let permission = (try? result.get().get()) ?? Permission()
            loop.execute { self.apply(permission, to: users, of: id) }
        }
    }

    private func apply(_ permission: Permission, to users: [UserID], of session: SessionID) {
        let allowed = Dictionary(uniqueKeysWithValues: permission.entries.map { ($0.user, $0) })
        for user in users {
            guard var watcher = watched[user]?.watchers[session] else { continue }
            if let entry = allowed[user] {
                let isNews = (watcher.sight == .nothing) != (entry.sight == .nothing)
                watcher.sight = entry.sight
                watched[user]?.watchers[session] = watcher
                // Blocked, they go offline at once; let be, they are seen again as they are.
                guard isNews, let fact = watched[user]?.fact, let session = watcher.session else { continue }
                let presence = fact.presence(entry.sight, earlier: entry.lastSeenAt)
                session.loop.execute { session.presenceChanged(presence) }
            } else if let session = watcher.session {
                session.loop.execute { session.watchEnded(user) }
                drop(session, [user])
            }
        }
    }

    // MARK: News

    /// A presence actor tells.
    public func received(_ fact: PresenceFact) {
        loop.execute { self.update(fact, isAnswer: false) }
    }

    /// After a change of owners: watch again where the owner is another. The new owner numbers anew.
    public func ownersChanged(_ changes: OwnerChanges) {
        loop.execute { [self] in
            for user in watched.keys where changes.hasMoved(presenceOf: user) { ask(user) }
        }
    }

    /// The bus was away: news is lost, and owners may not have heard that this node watches.
    public func askAgain() {
        loop.execute { [self] in
            for user in watched.keys { ask(user) }
        }
    }

    /// - Parameter isAnswer: answers to our own question may repeat what is known; news must be newer.
    private func update(_ fact: PresenceFact, isAnswer: Bool) {
        guard var entry = watched[fact.userID] else { return }
        let known = entry.fact
        if let known, isAnswer ? fact.version < known.version : fact.version <= known.version { return }
        entry.fact = fact
        watched[fact.userID] = entry
        guard let known, known.state != fact.state else { return }
        for (_, watcher) in entry.watchers {
            guard watcher.sight != .nothing, let session = watcher.session else { continue }
            let presence = fact.presence(watcher.sight, earlier: nil)
            session.loop.execute { session.presenceChanged(presence) }
        }
    }
}

/// How much of another's presence one may know.
private enum Sight: Sendable {
    case all
    /// One of the two does not share when they were last seen.
    case stateOnly
    /// One of the two blocks the other.
    case nothing
}

extension PresenceFact {
    fileprivate func presence(_ sight: Sight, earlier: Timestamp?) -> Presence {
        switch sight {
        case .nothing: return Presence(userID: userID, state: .offline, lastSeenAt: nil)
        case .stateOnly: return Presence(userID: userID, state: state, lastSeenAt: nil)
        case .all:
            let seen = [lastSeenAt, earlier].compactMap { $0 }.max()
            return Presence(userID: userID, state: state, lastSeenAt: state == .offline ? seen : nil)
        }
    }
}
