import TestSupport
import Testing

@testable import ClusterCore

@Suite struct CommandQueueTests {
    typealias Queue = CommandQueue<String, Int>

    private func sent(_ submission: Queue.Submission) throws -> UInt64 {
        guard case .send(let id) = submission else {
            Issue.record("not sent: \(submission)")
            throw Missing()
        }
        return id
    }

    private struct Missing: Error {}

    @Test func sendsAtOnceAndForgetsTheAnswered() throws {
        var queue = Queue()
        let first = try sent(queue.submit(1, to: "a", deadline: 10))
        let second = try sent(queue.submit(2, to: "a", deadline: 10))
        #expect(first < second)
        #expect(queue.depth(of: "a") == 2)
        same(queue.answered(first), 1)
        same(queue.answered(first), nil)
        #expect(queue.depth(of: "a") == 1)
        #expect(queue.count == 1)
    }

    @Test func anOldIdDoesNotHitTheCommandThatTookItsPlace() throws {
        var queue = Queue()
        let first = try sent(queue.submit(1, to: "a", deadline: 10))
        queue.answered(first)
        let second = try sent(queue.submit(2, to: "b", deadline: 10))
        same(queue.answered(first), nil)
        #expect(queue.contains(second))
    }

    @Test func refusalHoldsLaterCommandsAndResendKeepsTheOrder() throws {
        var queue = Queue()
        let first = try sent(queue.submit(1, to: "a", deadline: 10))
        _ = try sent(queue.submit(2, to: "a", deadline: 10))
        _ = try sent(queue.submit(3, to: "a", deadline: 10))
        same(queue.beginRepair(of: "a"), true)
        guard case .held = queue.submit(4, to: "a", deadline: 10) else {
            Issue.record("not held")
            return
        }
        _ = try sent(queue.submit(9, to: "b", deadline: 10))
        // An answer of the old owner still counts.
        same(queue.answered(first), 1)
        #expect(queue.resend("a").map(\.payload) == [2, 3, 4])
        _ = try sent(queue.submit(5, to: "a", deadline: 10))
        same(queue.beginRepair(of: "a"), true)
        #expect(queue.resend("a").map(\.payload) == [2, 3, 4, 5])
    }

    @Test func theFirstToAnUnknownOwnerGoesAlone() throws {
        var queue = Queue()
        let probe = try sent(queue.submit(1, to: "a", deadline: 10, probing: true))
        for payload in [2, 3] {
            guard case .held = queue.submit(payload, to: "a", deadline: 10, probing: true) else {
                Issue.record("\(payload) was not held")
                return
            }
        }
        _ = try sent(queue.submit(9, to: "b", deadline: 10, probing: true))
        same(queue.takeReleased().isEmpty, true)
        same(queue.answered(probe), 1)
        same(queue.takeReleased().map(\.payload), [2, 3])
        same(queue.takeReleased().isEmpty, true)
        _ = try sent(queue.submit(4, to: "a", deadline: 10))
    }

    @Test func aRefusedProbeIsFollowedByAnother() throws {
        var queue = Queue()
        let probe = try sent(queue.submit(1, to: "a", deadline: 10, probing: true))
        _ = queue.submit(2, to: "a", deadline: 10, probing: true)
        same(queue.beginRepair(of: "a"), true)
        same(queue.resend("a", probing: true).map(\.payload), [1])
        guard case .held = queue.submit(3, to: "a", deadline: 10) else {
            Issue.record("not held")
            return
        }
        same(queue.answered(probe), 1)
        same(queue.takeReleased().map(\.payload), [2, 3])
    }

    @Test func whatExpiresWithItsProbeIsNotSent() throws {
        var queue = Queue()
        _ = try sent(queue.submit(1, to: "a", deadline: 10, probing: true))
        _ = queue.submit(2, to: "a", deadline: 10)
        _ = queue.submit(3, to: "a", deadline: 20)
        same(queue.expire(at: 10).map(\.payload), [1, 2])
        same(queue.takeReleased().map(\.payload), [3])
    }

    @Test func aLostNodeRepairsItsAddressesOnly() throws {
        var queue = Queue()
        for address in ["a", "b", "c"] { _ = try sent(queue.submit(0, to: address, deadline: 10)) }
        same(queue.beginRepair(where: { $0 != "b" }).sorted(), ["a", "c"])
        #expect(queue.isRepairing("a"))
        #expect(!queue.isRepairing("b"))
        same(queue.beginRepair(where: { _ in true }), ["b"])
    }

    @Test func anEmptyAddressInRepairHoldsUntilResend() throws {
        var queue = Queue()
        same(queue.beginRepair(of: "a"), true)
        same(queue.beginRepair(of: "a"), false)
        same(queue.resend("a").isEmpty, true)
        _ = try sent(queue.submit(1, to: "a", deadline: 10))
        same(queue.beginRepair(of: "a"), true)
        guard case .held(let id) = queue.submit(2, to: "a", deadline: 10) else {
            Issue.record("not held")
            return
        }
        same(queue.answered(id), 2)
        same(queue.resend("a").map(\.payload), [1])
    }

    @Test func expiryIsInOrderAndOnlyOfTheDue() throws {
        var queue = Queue()
        _ = try sent(queue.submit(1, to: "a", deadline: 30))
        _ = try sent(queue.submit(2, to: "b", deadline: 10))
        let third = try sent(queue.submit(3, to: "a", deadline: 20))
        #expect(queue.nextExpiry == 10)
        same(queue.expire(at: 9).isEmpty, true)
        let due = queue.expire(at: 20)
        #expect(due.map(\.payload) == [2, 3])
        #expect(due.map(\.address) == ["b", "a"])
        same(queue.answered(third), nil)
        #expect(queue.nextExpiry == 30)
        same(queue.expire(at: 30).map(\.payload), [1])
        #expect(queue.count == 0)
    }

    @Test func boundsPerAddressAndInTotal() throws {
        var queue = Queue(limits: .init(perAddress: 2, total: 3))
        let first = try sent(queue.submit(1, to: "a", deadline: 10))
        _ = try sent(queue.submit(2, to: "a", deadline: 10))
        same(queue.submit(3, to: "a", deadline: 10), .full)
        _ = try sent(queue.submit(4, to: "b", deadline: 10))
        same(queue.submit(5, to: "c", deadline: 10), .full)
        queue.answered(first)
        _ = try sent(queue.submit(6, to: "c", deadline: 10))
    }

    /// Against a plain model: random operations on few addresses, and enough different ones that idle lines are swept.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func behavesAsItsModel(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = CommandQueue<Int, Int>(limits: .init(perAddress: 8, total: 200))
        var model: [Int: [(id: UInt64, payload: Int, deadline: Int64)]] = [:]
        var repairing: Set<Int> = []
        var now: Int64 = 0
        for step in 0..<40_000 {
            let address = Int.random(in: 0..<(step % 3 == 0 ? 4000 : 12), using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let deadline = now + Int64.random(in: 1..<400, using: &random)
                let isFull = model[address, default: []].count >= 8 || model.values.reduce(0) { $0 + $1.count } >= 200
                switch queue.submit(step, to: address, deadline: deadline) {
                case .full: #expect(isFull)
                case .held(let id):
                    #expect(!isFull && repairing.contains(address))
                    model[address, default: []].append((id, step, deadline))
                case .send(let id):
                    #expect(!isFull && !repairing.contains(address))
                    model[address, default: []].append((id, step, deadline))
                }
            case 5..<8:
                guard let busy = model.keys.sorted().randomElement(using: &random) else { continue }
                let place = Int.random(in: 0..<model[busy]!.count, using: &random)
                let entry = model[busy]!.remove(at: place)
                if model[busy]!.isEmpty { model[busy] = nil }
                same(queue.answered(entry.id), entry.payload)
            case 8:
                same(queue.beginRepair(of: address), repairing.insert(address).inserted)
            default:
                let address = repairing.sorted().randomElement(using: &random) ?? address
                let again = queue.resend(address)
                repairing.remove(address)
                #expect(again.map(\.payload) == model[address, default: []].map(\.payload))
                #expect(again.map(\.id) == model[address, default: []].map(\.id))
            }
            if step % 16 == 0 {
                now += 10
                let due = queue.expire(at: now)
                var expected: [(id: UInt64, payload: Int)] = []
                for (address, entries) in model {
                    expected += entries.filter { $0.deadline <= now }.map { ($0.id, $0.payload) }
                    let rest = entries.filter { $0.deadline > now }
                    model[address] = rest.isEmpty ? nil : rest
                }
                #expect(due.map(\.payload) == expected.sorted { $0.id < $1.id }.map(\.payload))
            }
            #expect(queue.count == model.values.reduce(0) { $0 + $1.count })
        }
    }
}
