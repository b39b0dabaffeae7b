import Distributed
import RoostModel

@testable import ActorRuntime

/// Answers with what it got and which node it lives on, and remembers the order in which calls came.
distributed actor EchoActor: HostedActor {
    typealias ActorSystem = RoostActorSystem

    nonisolated var unownedExecutor: UnownedSerialExecutor { actorSystem.lane(of: id).loop.asUnownedSerialExecutor() }

    private let lane: Lane
    private var count: UInt8 = 0

    init(lane: Lane, actorSystem: RoostActorSystem) {
        self.actorSystem = actorSystem
        self.lane = lane
    }

    func receive(_ call: InboundCall) {
        count &+= 1
        lane.answer(call, .success([count] + call.payload))
    }

    func retire(_ done: @escaping @Sendable () -> Void) { done() }

    func mayPassivate(at now: Timestamp) -> Bool { false }

    var activity: ActorActivity { ActorActivity(messagesPerSecond: 0, mailboxDepth: 0, idleSeconds: 0, routes: []) }
    var routes: [String] { [] }

    distributed func perform(_ request: ActorEnvelope) async throws -> ActorEnvelope {
        guard request.verb == "describe" else { throw RoostError(.malformed) }
        return ActorEnvelope(verb: "described", body: ["count": String(count), "isolated": String(lane.loop.isCurrent)])
    }
}
