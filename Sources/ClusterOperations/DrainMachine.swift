import RoostModel

/// A node's own part in being drained by operators, decided from each view that it sees: not ready and no new sockets at once, its clients
/// sent away once nothing lives here any more, and in use again when it is opened, at whatever moment.
public struct DrainMachine: Sendable {
    public enum Action: Hashable, Sendable {
        /// Not ready, and no new sockets.
        case close
        /// As ``close``; and nothing lives here any more: send the clients away, then say so, as long as this dismissal is the present one.
        case dismiss(Dismissal)
        /// Ready again.
        case reopen
    }

    /// One sending away of clients; a node may be taken back in the middle of one, and drained again.
    public struct Dismissal: Hashable, Sendable {
        public let node: NodeIdentity
        fileprivate let number: Int
    }

    private enum Phase: Hashable, Sendable {
        case inUse
        /// Things still live here.
        case emptying(NodeIdentity)
        case dismissing(Dismissal)
        case drained(NodeIdentity)
    }

    private var phase = Phase.inUse
    private var dismissals = 0

    public init() {}

    /// - Parameters:
    ///   - use: what operators want of `node`, this process's present incarnation.
    ///   - isEmpty: whether nothing lives there.
    public mutating func viewChanged(_ use: NodeUse, of node: NodeIdentity, isEmpty: Bool) -> Action? {
        switch use {
        case .open, .cordoned:
            defer { phase = .inUse }
            return phase == .inUse ? nil : .reopen
        case .drained:
            defer { phase = .drained(node) }
            return phase == .inUse ? .close : nil
        case .draining:
            switch phase {
            case .dismissing(let dismissal) where dismissal.node == node: return nil
            case .emptying(node) where !isEmpty: return nil
            // One that is drained may be drained again, and says again that it is.
            case .inUse, .emptying, .dismissing, .drained: return begin(node, isEmpty: isEmpty)
            }
        }
    }

    private mutating func begin(_ node: NodeIdentity, isEmpty: Bool) -> Action {
        guard isEmpty else {
            phase = .emptying(node)
            return .close
        }
        dismissals += 1
        let dismissal = Dismissal(node: node, number: dismissals)
        phase = .dismissing(dismissal)
        return .dismiss(dismissal)
    }

    public func isPresent(_ dismissal: Dismissal) -> Bool { phase == .dismissing(dismissal) }

    /// The clients are away, and the cluster knows.
    public mutating func ended(_ dismissal: Dismissal) {
        if isPresent(dismissal) { phase = .drained(dismissal.node) }
    }
}
