import RoostModel
import Testing

@testable import ChatActors

@Suite struct PeerRoutesTests {
    private let ann = UserID.make()
    private let bob = UserID.make()

    private func complete() -> PeerRoutes {
        var routes = PeerRoutes()
        _ = routes.snapshotPart(number: 4, online: [ann], isFirst: true, isLast: true)
        return routes
    }

    @Test func aSnapshotInPartsMakesAPeerKnown() {
        var routes = PeerRoutes()
        #expect(routes.snapshotPart(number: 4, online: [ann], isFirst: true, isLast: false) == [.clear, .add([ann])])
        #expect(!routes.isComplete)
        #expect(routes.snapshotPart(number: 4, online: [bob], isFirst: false, isLast: true) == [.add([bob])])
        #expect(routes.state == .complete(next: 5))
    }

    @Test func batchesInOrderAreAppliedAndAcknowledged() {
        var routes = complete()
        #expect(routes.batch(number: 5, online: [bob], offline: [ann]) == [.add([bob]), .remove([ann]), .acknowledge(5)])
        #expect(routes.batch(number: 5, online: [bob], offline: [ann]) == [.acknowledge(5)])
    }

    @Test func aMissingBatchMakesThePeerUnknownUntilASnapshot() {
        var routes = complete()
        let actions = routes.batch(number: 6, online: [bob], offline: [])
        #expect(actions == [.clear, .requestSnapshot(afterGap: true), .acknowledge(6)])
        #expect(!routes.isComplete)
        // While nothing is certain a batch is still acknowledged: everything is sent to that peer anyway.
        #expect(routes.batch(number: 7, online: [], offline: [bob]) == [.acknowledge(7)])
        _ = routes.snapshotPart(number: 7, online: [ann], isFirst: true, isLast: true)
        #expect(routes.state == .complete(next: 8))
    }

    @Test func aSnapshotForSomebodyElseTakesNobodyAway() {
        var routes = complete()
        #expect(routes.snapshotPart(number: 4, online: [ann], isFirst: true, isLast: false).isEmpty)
        #expect(routes.snapshotPart(number: 4, online: [bob], isFirst: false, isLast: true).isEmpty)
        #expect(routes.state == .complete(next: 5))
        // One that tells more than is known is taken.
        #expect(routes.snapshotPart(number: 6, online: [bob], isFirst: true, isLast: true) == [.clear, .add([bob])])
    }

    @Test func aLostLastBatchShowsByTheTip() {
        var routes = complete()
        #expect(routes.tip(number: 4).isEmpty)
        #expect(routes.tip(number: 5) == [.clear, .requestSnapshot(afterGap: true)])
        // The answer was lost as well: the next tip asks again, without making sessions sync twice.
        #expect(routes.tip(number: 5) == [.requestSnapshot(afterGap: false)])
    }

    @Test func theTailOfASnapshotWithoutItsHeadIsNotBelieved() {
        var routes = PeerRoutes()
        #expect(routes.snapshotPart(number: 4, online: [ann], isFirst: false, isLast: true).isEmpty)
        #expect(!routes.isComplete)
    }
}

@Suite struct AttachBatcherTests {
    private let ann = UserID.make()
    private let bob = UserID.make()
    private let one = IncarnationID.make()
    private let two = IncarnationID.make()

    @Test func aWaiterComesBackWhenEveryPeerHasTheBatch() throws {
        var batcher = AttachBatcher<String>()
        batcher.attach(ann, "ann")
        let (next, ready) = batcher.next(peers: [one, two])
        let batch = try #require(next)
        #expect(batch.online == [ann] && batch.offline.isEmpty && ready.isEmpty)
        #expect(batcher.acknowledged(batch.number, by: one).isEmpty)
        #expect(batcher.acknowledged(batch.number, by: one).isEmpty)
        #expect(batcher.acknowledged(batch.number, by: two) == ["ann"])
    }

    @Test func whileOneBatchIsOnItsWayTheNextGathers() throws {
        var batcher = AttachBatcher<String>()
        batcher.attach(ann, "ann")
        let first = try #require(batcher.next(peers: [one]).batch)
        batcher.attach(bob, "bob")
        batcher.detach(ann)
        #expect(batcher.next(peers: [one]).batch == nil)
        #expect(batcher.acknowledged(first.number, by: one) == ["ann"])
        let second = try #require(batcher.next(peers: [one]).batch)
        #expect(second.number == first.number + 1 && second.online == [bob] && second.offline == [ann])
        #expect(batcher.users == [bob])
    }

    @Test func aUserIsOnlineUntilTheLastSessionEnds() throws {
        var batcher = AttachBatcher<String>()
        batcher.attach(ann, "phone")
        batcher.attach(ann, "desktop")
        let batch = try #require(batcher.next(peers: [one]).batch)
        #expect(batcher.acknowledged(batch.number, by: one).sorted() == ["desktop", "phone"])
        batcher.detach(ann)
        #expect(batcher.next(peers: [one]).batch == nil)
        batcher.detach(ann)
        #expect(try #require(batcher.next(peers: [one]).batch).offline == [ann])
    }

    @Test func withoutPeersNobodyWaits() {
        var batcher = AttachBatcher<String>()
        batcher.attach(ann, "ann")
        #expect(batcher.next(peers: []).ready == ["ann"])
    }

    @Test func aPeerThatDiesOrIsSlowKeepsNobodyWaiting() throws {
        var batcher = AttachBatcher<String>()
        batcher.attach(ann, "ann")
        _ = batcher.next(peers: [one, two])
        _ = batcher.acknowledged(1, by: one)
        #expect(batcher.retain(peers: [one]) == ["ann"])
        batcher.attach(bob, "bob")
        _ = batcher.next(peers: [one])
        #expect(batcher.timedOut(1).isEmpty)
        #expect(batcher.timedOut(2) == ["bob"])
    }
}

extension AttachBatcher.Batch: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && Set(left.online) == Set(right.online) && Set(left.offline) == Set(right.offline)
    }
}

@Suite struct RouteMessageTests {
    @Test func everyMessageComesBackAsItWas() throws {
        let node = NodeIdentity(name: "node1", incarnation: .make())
        let users = [UserID.make(), .make()]
        let messages: [RouteMessage] = [
            .batch(from: node, number: 3, online: users, offline: []), .tip(from: node, number: 4),
            .snapshot(from: node, number: 5, online: users, isFirst: true, isLast: false),
            .acknowledgement(from: node, number: 6), .snapshotRequest(from: node, afterGap: true),
        ]
        for message in messages {
            let read = try #require(RouteMessage(message.encoded()))
            #expect("\(read)" == "\(message)")
        }
    }

    @Test func truncatedOrForeignBytesAreNoMessage() {
        let bytes = RouteMessage.tip(from: NodeIdentity(name: "n", incarnation: .make()), number: 1).encoded()
        for length in 0..<bytes.count { #expect(RouteMessage(Array(bytes[..<length])) == nil) }
        #expect(RouteMessage([9] + bytes.dropFirst()) == nil)
    }
}
