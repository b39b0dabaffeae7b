import RoostModel

/// The newest load report of each node, and how old it is. Kept by every node: any of them may lead or be asked.
public struct LoadBook: Sendable {
    public struct Entry: Sendable {
        public let report: LoadReport
        /// When it came, by this node's monotonic clock.
        public let at: Duration
    }

    public private(set) var entries: [IncarnationID: Entry] = [:]
    /// One more than any cluster has; what garbage on the bus could add is bounded by it.
    private static let limit = 1024

    public init() {}

    public mutating func received(_ report: LoadReport, at now: Duration) {
        guard entries.count < Self.limit || entries[report.node.incarnation] != nil else { return }
        entries[report.node.incarnation] = Entry(report: report, at: now)
    }

    public mutating func forget(except live: Set<IncarnationID>) {
        entries = entries.filter { live.contains($0.key) }
    }

    public subscript(node: NodeIdentity) -> LoadReport? { entries[node.incarnation]?.report }

    /// The reports of `nodes` by incarnation; nil where one is missing or older than `maximumAge`: what is planned on old figures does harm.
    public func fresh(_ nodes: [NodeIdentity], maximumAge: Duration, at now: Duration) -> [IncarnationID: LoadReport]? {
        var reports: [IncarnationID: LoadReport] = [:]
        for node in nodes {
            guard let entry = entries[node.incarnation], now - entry.at <= maximumAge else { return nil }
            reports[node.incarnation] = entry.report
        }
        return reports
    }

    /// What is known, of any age.
    public var reports: [IncarnationID: LoadReport] { entries.mapValues(\.report) }
}
