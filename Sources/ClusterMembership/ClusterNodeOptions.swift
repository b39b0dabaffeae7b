import ClusterCore
import Ports
import RoostModel

/// Who a node is and how it takes part.
public struct ClusterNodeOptions: Sendable {
    /// Letters, digits, `-` and `_`; at most 64. Stays over restarts.
    public var name: String
    public var url: String
    public var adminURL: String
    public var version: String
    /// Journal lanes: each has a fence.
    public var lanes: Int
    public var timings = ClusterTimings()
    /// Makes ``ClusterNode/freeze()`` work.
    public var allowsTestHooks = false

    public init(name: String, url: String, adminURL: String, version: String, lanes: Int) {
        self.name = name
        self.url = url
        self.adminURL = adminURL
        self.version = version
        self.lanes = lanes
    }

    /// Everything that is wrong; empty where the node can start.
    public func faults() -> [String] {
        var faults = timings.faults()
        if !Subject.isToken(name) || name.utf8.count > 64 {
            faults.append("name must be 1 to 64 letters, digits, - and _")
        }
        if !(1...64).contains(lanes) { faults.append("lanes must be 1 to 64") }
        return faults
    }
}

public struct ClusterError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Hashable, Sendable {
        /// The options are not sound; `detail` names every fault.
        case badOptions
        /// Another process took this node's name while this one ran.
        case displaced
        /// The node has left, or was stopped before it had joined.
        case ended
    }

    public let code: Code
    public let detail: String

    public init(_ code: Code, detail: String = "") {
        self.code = code
        self.detail = detail
    }

    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}

enum ClusterSubject {
    static let heartbeat = Subject("roost", "v1", "cluster", "heartbeat")
    static let load = Subject("roost", "v1", "cluster", "load")
    static let view = Subject("roost", "v1", "cluster", "view")

    static func probe(_ node: NodeIdentity) -> Subject {
        Subject("roost", "v1", "probe", node.name, node.incarnation.description)
    }
}
