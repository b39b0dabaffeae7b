import MemoryAdapters
import RoostModel
import RoostProtocol
import Testing

@testable import Gateway

/// Who may have a session, and how many.
@Suite(.timeLimit(.minutes(2))) struct AdmissionTests {
    @Test func anIncompleteProfileGetsNoSessionWhereItIsRequired() async throws {
        try await withCluster(1, TestNodeOptions(requiresProfile: true)) { cluster in
            let ann = try await cluster.anonymous()
            let socket = try await cluster.socket()
            await socket.send(.hello(.init(token: ann.accessToken)))
            #expect(await socket.closeCode() == CloseCode.profileIncomplete.rawValue)
            // Held back, and not done for someone who may not be here.
            let eager = try await cluster.socket()
            await eager.send(.hello(.init(token: ann.accessToken)))
            await eager.send(.ping, id: 1)
            #expect(try await eager.next() == nil)
            let forged = try await cluster.socket()
            await forged.send(.hello(.init(token: "nonsense")))
            #expect(await forged.closeCode() == CloseCode.unauthenticated.rawValue)
        }
    }

    @Test func aCompleteProfileGetsASessionAndWhatItSentMeanwhileIsDone() async throws {
        try await withCluster(1, TestNodeOptions(requiresProfile: true)) { cluster in
            let ann = try await cluster.anonymous()
            try cluster.database.completeProfile(of: ann.user.id)
            for _ in 0..<2 {
                let socket = try await cluster.socket()
                await socket.send(.hello(.init(token: ann.accessToken)))
                await socket.send(.ping, id: 1)
                _ = try await socket.answer(to: 1).get()
                let session = try await cluster.session(ann)
                await session.send(.ping, id: 2)
                _ = try await session.answer(to: 2).get()
            }
        }
    }

    @Test func aDatabaseThatIsAwayIsNoReasonToStayAway() async throws {
        try await withCluster(1, TestNodeOptions(requiresProfile: true)) { cluster in
            let ann = try await cluster.anonymous()
            cluster.database.setAvailable(false)
            let socket = try await cluster.socket()
            await socket.send(.hello(.init(token: ann.accessToken)))
            let code = await socket.closeCode().flatMap { CloseCode(rawValue: $0) }
            #expect(code?.allowsReconnect == true)
            cluster.database.setAvailable(true)
        }
    }

    @Test func oneSocketTooManyClosesTheOldestOfThatUser() async throws {
        try await withCluster(1, TestNodeOptions(socketsOfUser: 2)) { cluster in
            let (ann, bob) = (try await cluster.anonymous(), try await cluster.anonymous())
            let first = try await cluster.session(ann)
            let second = try await cluster.session(ann)
            let other = try await cluster.session(bob)
            let third = try await cluster.session(ann)
            #expect(await first.closeCode() == CloseCode.wrongUse.rawValue)
            for session in [second, other, third] {
                await session.send(.ping, id: 1)
                _ = try await session.answer(to: 1).get()
            }
            #expect(cluster.nodes[0].registry.sessions(of: ann.user.id).count == 2)
        }
    }

    @Test func framesOfAllSocketsOfAUserAreCounted() async throws {
        try await withCluster(1, TestNodeOptions(framesOfUser: .init(perSecond: 0.001, burst: 3))) { cluster in
            let (ann, bob) = (try await cluster.anonymous(), try await cluster.anonymous())
            let sockets = [try await cluster.session(ann), try await cluster.session(ann)]
            for id in 1...3 {
                await sockets[id % 2].send(.ping, id: id)
                _ = try await sockets[id % 2].answer(to: id).get()
            }
            for socket in sockets {
                await socket.send(.ping, id: 9)
                guard case .failure(let problem) = try await socket.answer(to: 9) else { throw Unexpected("a frame too many") }
                #expect(problem.errorCode == .rateLimited)
                // Once in a thousand seconds, and nearly all of them are left.
                #expect((900...1_000).contains(problem.retryAfterSeconds ?? 0))
            }
            let other = try await cluster.session(bob)
            await other.send(.ping, id: 1)
            _ = try await other.answer(to: 1).get()
        }
    }

    @Test func aNodeThatIsClosedRefusesNewSocketsAndKeepsThoseThatItHas() async throws {
        try await withCluster(1) { cluster in
            let ann = try await cluster.anonymous()
            let session = try await cluster.session(ann)
            cluster.nodes[0].registry.close()
            await #expect(throws: (any Error).self) { _ = try await cluster.socket() }
            await session.send(.ping, id: 1)
            _ = try await session.answer(to: 1).get()
            cluster.nodes[0].registry.reopen()
            _ = try await cluster.session(ann)
        }
    }
}
