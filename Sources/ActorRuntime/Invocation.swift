import Distributed
import RoostModel

extension RoostActorSystem: DistributedActorSystem {
    public typealias ActorID = ActorAddress
    public typealias SerializationRequirement = any Codable
    public typealias InvocationEncoder = EnvelopeEncoder
    public typealias InvocationDecoder = EnvelopeDecoder
    public typealias ResultHandler = EnvelopeResultHandler

    /// Always a remote reference: an actor may move at any moment, so even one that is here is reached through its lane.
    public func resolve<Act>(id: ActorAddress, as type: Act.Type) throws -> Act?
    where Act: DistributedActor, Act.ID == ActorAddress {
        nil
    }

    /// The address that the lane is activating: a virtual actor does not choose its identity.
    public func assignID<Act>(_ type: Act.Type) -> ActorAddress where Act: DistributedActor, Act.ID == ActorAddress {
        guard let address = Self.activating else { preconditionFailure("actors are made by their lane only") }
        return address
    }

    public func actorReady<Act>(_ actor: Act) where Act: DistributedActor, Act.ID == ActorAddress {}

    public func resignID(_ id: ActorAddress) {}

    public func makeInvocationEncoder() -> EnvelopeEncoder { EnvelopeEncoder() }

    public func remoteCall<Act, Err, Res>(
        on actor: Act, target: RemoteCallTarget, invocation: inout EnvelopeEncoder, throwing: Err.Type, returning: Res.Type
    ) async throws -> Res
    where Act: DistributedActor, Act.ID == ActorAddress, Err: Error, Res: Codable {
        guard let request = invocation.envelope, let answer = try await perform(request, at: actor.id) as? Res else {
            throw ActorSystemError.unsupportedTarget
        }
        return answer
    }

    public func remoteCallVoid<Act, Err>(
        on actor: Act, target: RemoteCallTarget, invocation: inout EnvelopeEncoder, throwing: Err.Type
    ) async throws where Act: DistributedActor, Act.ID == ActorAddress, Err: Error {
        throw ActorSystemError.unsupportedTarget
    }

    /// How long a typed call may take.
    public static var performTimeout: Duration { .seconds(5) }

    private func perform(_ request: ActorEnvelope, at address: ActorAddress) async throws -> ActorEnvelope {
        let payload = try EnvelopeCoding.encode(request)
        let endpoint = lane(of: address).endpoint
        let answer = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[UInt8], any Error>) in
            endpoint.loop.execute {
                endpoint.call(address, verb: CommonVerb.perform, payload: payload, timeout: Self.performTimeout) {
                    continuation.resume(with: $0)
                }
            }
        }
        return try EnvelopeCoding.decode(answer)
    }

    /// The receiving side: enters the actor by its protocol, so no mangled name is looked up.
    func perform(_ call: InboundCall, on actor: some HostedActor, lane: Lane) {
        Task {
            let outcome: CallOutcome
            do {
                let answer = try await actor.perform(try EnvelopeCoding.decode(call.payload))
                outcome = .success(try EnvelopeCoding.encode(answer))
            } catch let error as RoostError {
                outcome = .failure(error)
            } catch {
                outcome = .failure(RoostError(.malformed))
            }
            lane.loop.execute { lane.answer(call, outcome) }
        }
    }
}

public enum ActorSystemError: Error, DistributedActorSystemError {
    /// Only ``HostedActor/perform(_:)`` crosses nodes.
    case unsupportedTarget
}

/// Takes the one argument that crosses nodes.
public struct EnvelopeEncoder: DistributedTargetInvocationEncoder {
    public typealias SerializationRequirement = any Codable

    var envelope: ActorEnvelope?

    public mutating func recordGenericSubstitution<T>(_ type: T.Type) throws { throw ActorSystemError.unsupportedTarget }

    public mutating func recordArgument<Value: Codable>(_ argument: RemoteCallArgument<Value>) throws {
        guard let envelope = argument.value as? ActorEnvelope, self.envelope == nil else {
            throw ActorSystemError.unsupportedTarget
        }
        self.envelope = envelope
    }

    public mutating func recordErrorType<E: Error>(_ type: E.Type) throws {}
    public mutating func recordReturnType<R: Codable>(_ type: R.Type) throws {}
    public mutating func doneRecording() throws {}
}

/// The other half of the protocol. Unused: calls enter by ``HostedActor``, not by a target's mangled name.
public struct EnvelopeDecoder: DistributedTargetInvocationDecoder {
    public typealias SerializationRequirement = any Codable

    public mutating func decodeGenericSubstitutions() throws -> [any Any.Type] { [] }
    public mutating func decodeNextArgument<Argument: Codable>() throws -> Argument { throw ActorSystemError.unsupportedTarget }
    public mutating func decodeErrorType() throws -> (any Any.Type)? { nil }
    public mutating func decodeReturnType() throws -> (any Any.Type)? { nil }
}

public struct EnvelopeResultHandler: DistributedTargetInvocationResultHandler {
    public typealias SerializationRequirement = any Codable

    public func onReturn<Success: Codable>(value: Success) async throws { throw ActorSystemError.unsupportedTarget }
    public func onReturnVoid() async throws { throw ActorSystemError.unsupportedTarget }
    public func onThrow<Err: Error>(error: Err) async throws { throw ActorSystemError.unsupportedTarget }
}
