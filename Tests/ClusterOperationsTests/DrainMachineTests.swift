import RoostModel
import Testing

@testable import ClusterOperations

@Suite struct DrainMachineTests {
    private let node = NodeIdentity(name: "node1", incarnation: .make())

    private func dismissal(_ action: DrainMachine.Action?) throws -> DrainMachine.Dismissal {
        guard case .dismiss(let dismissal) = action else { throw Unexpected(action: action) }
        return dismissal
    }

    private struct Unexpected: Error { let action: DrainMachine.Action? }

    @Test func aNodeInUseDoesNothing() {
        var machine = DrainMachine()
        for use in [NodeUse.open, .cordoned, .open] { #expect(machine.viewChanged(use, of: node, isEmpty: false) == nil) }
    }

    @Test func itClosesAtOnceAndDismissesWhenItIsEmpty() throws {
        var machine = DrainMachine()
        #expect(machine.viewChanged(.draining, of: node, isEmpty: false) == .close)
        #expect(machine.viewChanged(.draining, of: node, isEmpty: false) == nil)
        let dismissal = try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true))
        #expect(dismissal.node == node && machine.isPresent(dismissal))
        #expect(machine.viewChanged(.draining, of: node, isEmpty: true) == nil)
        machine.ended(dismissal)
        #expect(!machine.isPresent(dismissal))
        #expect(machine.viewChanged(.drained, of: node, isEmpty: true) == nil)
        #expect(machine.viewChanged(.open, of: node, isEmpty: true) == .reopen)
        #expect(machine.viewChanged(.open, of: node, isEmpty: false) == nil)
    }

    @Test func takenBackInTheMiddleItForgetsItsDismissal() throws {
        var machine = DrainMachine()
        let first = try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true))
        #expect(machine.viewChanged(.cordoned, of: node, isEmpty: true) == .reopen)
        #expect(!machine.isPresent(first))
        // What the old dismissal says late is not the new one's end.
        let second = try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true))
        machine.ended(first)
        #expect(machine.isPresent(second) && !machine.isPresent(first))
    }

    @Test func aDrainedNodeIsDrainedAgain() throws {
        var machine = DrainMachine()
        machine.ended(try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true)))
        #expect(machine.viewChanged(.drained, of: node, isEmpty: true) == nil)
        machine.ended(try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true)))
        // The view between the two may have been missed.
        _ = try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true))
    }

    @Test func anotherIncarnationBeginsAnew() throws {
        var machine = DrainMachine()
        let first = try dismissal(machine.viewChanged(.draining, of: node, isEmpty: true))
        let next = NodeIdentity(name: "node1", incarnation: .make())
        #expect(machine.viewChanged(.draining, of: next, isEmpty: false) == .close)
        #expect(!machine.isPresent(first))
        #expect(machine.viewChanged(.open, of: next, isEmpty: false) == .reopen)
    }

    @Test func whoComesIntoADrainedViewIsClosed() {
        var machine = DrainMachine()
        #expect(machine.viewChanged(.drained, of: node, isEmpty: true) == .close)
        #expect(machine.viewChanged(.open, of: node, isEmpty: true) == .reopen)
    }
}
