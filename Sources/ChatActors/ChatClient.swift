import ActorRuntime
import Ports
import RoostModel

/// Commands and questions to the actors, from a loop or from a task.
public struct ChatClient: Sendable {
    /// After this a caller is told to try again. Longer than a takeover usually takes, so that most calls outlive one.
    public static let timeout: Duration = .seconds(5)

    /// Reports of sessions may wait for a takeover.
    private static let presenceTimeout: Duration = .seconds(20)

    private let system: RoostActorSystem

    public init(system: RoostActorSystem) {
        self.system = system
    }

    // MARK: On an endpoint's loop

    public func send(
        _ message: OutgoingMessage, from endpoint: Endpoint, completion: @escaping (Result<SentMessage, RoostError>) -> Void
    ) {
        endpoint.call(
            ActorAddress(message.conversationID), verb: ConversationVerb.send.rawValue, payload: message.encoded(),
            timeout: Self.timeout
        ) { completion(Self.decode($0) { (bytes) throws(ByteReader.Truncated) in try SentMessage(bytes) }) }
    }

    public func move(
        _ position: PositionKind, of user: UserID, in conversation: ConversationID, to seq: Seq, from endpoint: Endpoint,
        completion: @escaping (Result<ReadPosition, RoostError>) -> Void
    ) {
        let verb: ConversationVerb =
            switch position {
            case .read: .read
            case .delivered: .delivered
            }
        endpoint.call(
            ActorAddress(conversation), verb: verb.rawValue, payload: PositionRequest(userID: user, seq: seq).encoded(),
            timeout: Self.timeout
        ) { completion(Self.decode($0) { (bytes) throws(ByteReader.Truncated) in try ReadPosition(bytes) }) }
    }

    public func perform(
        _ action: ConversationAction, in conversation: ConversationID, by user: UserID, from endpoint: Endpoint,
        completion: @escaping (Result<Void, RoostError>) -> Void
    ) {
        endpoint.call(
            ActorAddress(conversation), verb: ConversationVerb.act.rawValue,
            payload: ActionRequest(userID: user, action: action).encoded(), timeout: Self.timeout
        ) { completion($0.map { _ in }) }
    }

    public func typing(
        _ isActive: Bool, by user: UserID, in conversation: ConversationID, from endpoint: Endpoint,
        completion: @escaping (Result<Void, RoostError>) -> Void
    ) {
        endpoint.call(
            ActorAddress(conversation), verb: ConversationVerb.typing.rawValue,
            payload: TypingRequest(userID: user, isActive: isActive).encoded(), timeout: Self.timeout
        ) { completion($0.map { _ in }) }
    }

    // MARK: Presence, on an endpoint's loop

    public func attach(
        _ session: SessionID, of user: UserID, device: DeviceID, isBackground: Bool, from endpoint: Endpoint
    ) {
        report(.attach, user, SessionReport(sessionID: session, deviceID: device, isBackground: isBackground), endpoint)
    }

    public func setBackground(
        _ isBackground: Bool, _ session: SessionID, of user: UserID, device: DeviceID, from endpoint: Endpoint
    ) {
        report(.state, user, SessionReport(sessionID: session, deviceID: device, isBackground: isBackground), endpoint)
    }

    public func detach(
        _ session: SessionID, of user: UserID, device: DeviceID, _ ending: SessionEnding, from endpoint: Endpoint
    ) {
        detach(
            user, SessionReport(sessionID: session, deviceID: device, isBackground: false, ending: ending), endpoint, attempt: 0)
    }

    /// Said again until it is heard: nobody else tells an owner that a session of a living node is gone.
    private func detach(_ user: UserID, _ report: SessionReport, _ endpoint: Endpoint, attempt: Int) {
        endpoint.call(
            ActorAddress(user), verb: PresenceVerb.detach.rawValue, payload: report.encoded(), timeout: Self.presenceTimeout
        ) { result in
            guard case .failure = result, attempt < Self.detachAttempts else { return }
            endpoint.loop.schedule(after: .seconds(2)) { detach(user, report, endpoint, attempt: attempt + 1) }
        }
    }

    private static let detachAttempts = 60

    /// Nobody waits for these: the session says it again after a change of owner, and after the bus was away.
    private func report(_ verb: PresenceVerb, _ user: UserID, _ report: SessionReport, _ endpoint: Endpoint) {
        endpoint.call(
            ActorAddress(user), verb: verb.rawValue, payload: report.encoded(), timeout: Self.presenceTimeout
        ) { _ in }
    }

    /// Watches a user for this node: changes come as notices. Answers how things stand.
    ///
    /// - Parameter known: what this node was told last; a fresh owner shows no less until sessions had time to attach again.
    public func watch(
        _ user: UserID, known: PresenceState?, from endpoint: Endpoint,
        completion: @escaping (Result<PresenceFact, RoostError>) -> Void
    ) {
        endpoint.call(
            ActorAddress(user), verb: PresenceVerb.watch.rawValue, payload: WatchRequest(known: known).encoded(),
            timeout: Self.timeout
        ) {
            completion(Self.decode($0) { (bytes) throws(ByteReader.Truncated) in try PresenceFact(bytes) })
        }
    }

    public func unwatch(_ user: UserID, from endpoint: Endpoint) {
        endpoint.call(
            ActorAddress(user), verb: PresenceVerb.unwatch.rawValue, payload: [], timeout: Self.presenceTimeout
        ) { _ in }
    }

    private static func decode<Value>(
        _ result: Result<[UInt8], RoostError>, _ read: ([UInt8]) throws(ByteReader.Truncated) -> Value
    ) -> Result<Value, RoostError> {
        switch result {
        case .success(let bytes):
            do throws(ByteReader.Truncated) {
                return .success(try read(bytes))
            } catch {
                return .failure(RoostError(.unavailable, "the owner runs another release"))
            }
        case .failure(let error): return .failure(error)
        }
    }

    /// Runs a call on the loop of the lane that the address has here: local owners are reached without another hop.
    private func call<Value: Sendable>(
        _ address: ActorAddress,
        _ body: @escaping @Sendable (Endpoint, @escaping @Sendable (Result<Value, RoostError>) -> Void) -> Void
    ) async throws(RoostError) -> Value {
        let endpoint = system.lane(of: address).endpoint
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, RoostError>, Never>) in
            endpoint.loop.execute { body(endpoint) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }
}

public enum PositionKind: Sendable { case read, delivered }

extension ChatClient: ChatCommands {
    public func send(_ message: OutgoingMessage) async throws(RoostError) -> SentMessage {
        try await call(ActorAddress(message.conversationID)) { send(message, from: $0, completion: $1) }
    }

    public func read(_ conversation: ConversationID, upTo seq: Seq, by user: UserID) async throws(RoostError) -> ReadPosition {
        try await call(ActorAddress(conversation)) {
            move(.read, of: user, in: conversation, to: seq, from: $0, completion: $1)
        }
    }

    public func delivered(
        _ conversation: ConversationID, upTo seq: Seq, by user: UserID
    ) async throws(RoostError) -> ReadPosition {
        try await call(ActorAddress(conversation)) {
            move(.delivered, of: user, in: conversation, to: seq, from: $0, completion: $1)
        }
    }
}

extension ChatClient {
    public func perform(
        _ action: ConversationAction, in conversation: ConversationID, by user: UserID
    ) async throws(RoostError) {
        try await call(ActorAddress(conversation)) { endpoint, completion in
            perform(action, in: conversation, by: user, from: endpoint) { completion($0) }
        }
    }
}

extension ChatClient: PresenceQueries {
    public func states(of users: [UserID]) async throws(RoostError) -> [PresenceState] {
        var states: [PresenceState] = []
        states.reserveCapacity(users.count)
        for result in await facts(of: users) { states.append(try result.get().state) }
        return states
    }

    private func facts(of users: [UserID]) async -> [Result<PresenceFact, RoostError>] {
        await withTaskGroup(of: (Int, Result<PresenceFact, RoostError>).self) { group in
            for (index, user) in users.enumerated() {
                group.addTask { (index, await fact(of: user)) }
            }
            var facts = [Result<PresenceFact, RoostError>?](repeating: nil, count: users.count)
            for await (index, fact) in group { facts[index] = fact }
            return facts.map { $0! }
        }
    }

    private func fact(of user: UserID) async -> Result<PresenceFact, RoostError> {
        do throws(RoostError) {
            let fact: PresenceFact = try await call(ActorAddress(user)) { endpoint, completion in
                endpoint.call(ActorAddress(user), verb: PresenceVerb.query.rawValue, payload: [], timeout: Self.timeout) {
                    completion(Self.decode($0) { (bytes) throws(ByteReader.Truncated) in try PresenceFact(bytes) })
                }
            }
            return .success(fact)
        } catch {
            return .failure(error)
        }
    }
}
