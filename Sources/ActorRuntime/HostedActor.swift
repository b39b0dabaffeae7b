import Distributed
import RoostModel

/// A distributed actor that lives on a lane: activated by its first call, dropped when idle or when its shard moves away.
///
/// Its executor is the lane's event loop. Calls come in one by one, in order, through ``receive(_:)``, which must not block: an
/// actor that has to wait for the database keeps its own queue and answers later.
public protocol HostedActor: DistributedActor where ActorSystem == RoostActorSystem, ID == ActorAddress {
    /// Takes a call. Every call is answered exactly once, through ``Lane/answer(_:_:)``, now or later.
    func receive(_ call: InboundCall)

    /// Finishes what is in flight and answers what waits with `notOwner`; calls `done` on the lane after the last answer.
    /// Nothing is received after this.
    func retire(_ done: @escaping @Sendable () -> Void)

    /// Asked now and then; true lets the lane drop the actor. It must have nothing in flight then.
    func mayPassivate(at now: Timestamp) -> Bool

    /// What it is doing, for operators; without its routes.
    var activity: ActorActivity { get }

    /// Names of the nodes that are told of what happens in it.
    var routes: [String] { get }

    /// The one distributed entry point: slow, typed, for control and inspection. Calls that carry messages go through
    /// ``receive(_:)``. The wire knows this entry by its version, not by a mangled name, so that a rename breaks no rolling upgrade.
    distributed func perform(_ request: ActorEnvelope) async throws -> ActorEnvelope
}

/// What ``HostedActor/perform(_:)`` takes and gives: a verb of the actor's kind and a body whose encoding the verb fixes.
/// Unknown keys are ignored and new ones optional, so that two releases can talk.
public struct ActorEnvelope: Codable, Sendable, Hashable {
    public var verb: String
    public var body: [String: String]

    public init(verb: String, body: [String: String] = [:]) {
        self.verb = verb
        self.body = body
    }
}

/// A call on its way through the owner's lane.
public struct InboundCall: Sendable {
    enum Origin: Sendable {
        case local(endpoint: Int)
        case remote(NodeIdentity, endpoint: UInt16)
    }

    public let address: ActorAddress
    public let verb: UInt8
    public let payload: [UInt8]
    let id: UInt64
    let origin: Origin

    /// The node that called.
    public func caller(here: NodeIdentity) -> NodeIdentity {
        switch origin {
        case .local: here
        case .remote(let node, _): node
        }
    }
}

/// Verbs that every kind of actor shares; kinds number theirs from 16.
public enum CommonVerb {
    /// An ``ActorEnvelope`` for ``HostedActor/perform(_:)``.
    static let perform: UInt8 = 1
    public static let firstOfKind: UInt8 = 16
}
