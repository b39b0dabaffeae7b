import ActorRuntime
import ChatActors
import EdgeCodec
import EventLoop
import RoostModel
import Runtime

/// The live sessions of this node, by user. Any thread.
public final class SessionRegistry: SessionHub, @unchecked Sendable {
    private static let stripeCount = 64

    private let stripes: [Locked<[UserID: [Session]]>] = (0..<stripeCount).map { _ in Locked([:]) }
    private let deliveries: Counter
    private let leaving = Locked(false)
    private let limit: Int

    /// - Parameter limit: sessions of one user; nil for no limit.
    public init(limit: Int? = nil, metrics: Metrics) {
        self.limit = limit ?? .max
        deliveries = metrics.counter("roost_session_deliveries_total", help: "Events handed to sessions of this node.")
        metrics.gauge("roost_sessions", help: "Live authenticated sessions.") { [weak self] in Double(self?.count ?? 0) }
    }

    public var count: Int { stripes.reduce(0) { $0 + $1.withLock { $0.values.reduce(0) { $0 + $1.count } } } }

    private func stripe(_ user: UserID) -> Locked<[UserID: [Session]]> {
        stripes[Int(truncatingIfNeeded: user.low) & (Self.stripeCount - 1)]
    }

    /// - Returns: where there are too many, the oldest of the user's sessions: it is none any more, and has to be closed.
    ///
    /// The oldest, since a client that leaves its sockets behind should reach its user all the same with the newest.
    func add(_ session: Session, of user: UserID) -> Session? {
        let limit = limit
        return stripe(user).withLock { sessions in
            sessions[user, default: []].append(session)
            return sessions[user].flatMap { $0.count > limit ? sessions[user]?.removeFirst() : nil }
        }
    }

    func remove(_ session: Session, of user: UserID) {
        stripe(user).withLock { sessions in
            sessions[user]?.removeAll { $0 === session }
            if sessions[user]?.isEmpty == true { sessions[user] = nil }
        }
    }

    public func sessions(of user: UserID) -> [Session] { stripe(user).withLock { $0[user] ?? [] } }

    public func hasSessions(of user: UserID) -> Bool { stripe(user).withLock { $0[user] != nil } }

    public func deliver(_ event: FanoutEvent) {
        var targets: [Session] = []
        for user in event.recipients {
            stripe(user).withLock { sessions in
                if let found = sessions[user] { targets.append(contentsOf: found) }
            }
        }
        guard let first = targets.first else { return }
        deliveries.increment(by: targets.count)
        let delivery = Delivery(event)
        // The common case: one or two sessions. Each loop gets one piece of work per event, however many sessions it has.
        if targets.count == 1 {
            first.loop.execute { first.deliver(delivery) }
            return
        }
        var byLoop: [(loop: EventLoop, sessions: [Session])] = []
        for session in targets {
            if let index = byLoop.firstIndex(where: { $0.loop === session.loop }) {
                byLoop[index].sessions.append(session)
            } else {
                byLoop.append((session.loop, [session]))
            }
        }
        for (loop, sessions) in byLoop {
            loop.execute { for session in sessions { session.deliver(delivery) } }
        }
    }

    /// Whether this node takes no sessions any more.
    public var isLeaving: Bool { leaving.withLock { $0 } }

    /// Tells every client to go elsewhere, and takes no new ones.
    public func leave(afterSeconds seconds: Int) {
        leaving.withLock { $0 = true }
        forEach { $0.goAway(afterSeconds: seconds) }
    }

    /// Takes no new sessions until ``reopen()``; those that are here stay for now.
    public func close() { leaving.withLock { $0 = true } }

    /// Takes sessions again.
    public func reopen() { leaving.withLock { $0 = false } }

    /// Calls `body` for every session, on the session's loop.
    public func forEach(_ body: @escaping @Sendable (Session) -> Void) {
        for stripe in stripes {
            for session in stripe.withLock({ $0.values.flatMap { $0 } }) {
                session.loop.execute { body(session) }
            }
        }
    }

    /// Closes the sockets of devices that were logged out.
    public func close(_ devices: [DeviceID]) {
        let devices = Set(devices)
        forEach { $0.closeIfRevoked(devices) }
    }
}

/// An event on its way to sessions: framed once, shared by all of them.
final class Delivery: Sendable {
    let kind: FanoutEvent.Kind
    let conversationID: ConversationID
    let seq: Seq
    let subject: UserID?
    /// Of an `advanced` event.
    let advancedFrom: Seq?
    let frame: SharedFrame

    init(_ event: FanoutEvent) {
        kind = event.kind
        conversationID = event.conversationID
        seq = event.seq
        subject = event.subject
        advancedFrom = event.kind == .advanced ? event.advancedFrom : nil
        frame = SharedFrame.text(event.payload)
    }
}
