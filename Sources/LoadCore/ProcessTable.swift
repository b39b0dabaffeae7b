/// Processor time and memory of processes, out of the text of `/proc/PID/stat` (proc(5)).
public struct ProcessStat: Equatable, Sendable {
    public let pid: Int
    public let parent: Int
    /// User and system time of the process in clock ticks.
    public let ticks: Int
    /// The same of its children that have ended and were waited for.
    public let endedChildrenTicks: Int
    public let residentPages: Int

    public init(pid: Int, parent: Int, ticks: Int, endedChildrenTicks: Int, residentPages: Int) {
        self.pid = pid
        self.parent = parent
        self.ticks = ticks
        self.endedChildrenTicks = endedChildrenTicks
        self.residentPages = residentPages
    }

    public init?(_ text: String) {
        // The second field is the name in parentheses, which may hold blanks and parentheses.
        guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"), open < close,
            let pid = Int(text[..<open].split(separator: " ").first ?? "")
        else { return nil }
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 21, let parent = Int(fields[1]), let user = Int(fields[11]), let system = Int(fields[12]),
            let childUser = Int(fields[13]), let childSystem = Int(fields[14]), let resident = Int(fields[21])
        else { return nil }
        self.init(
            pid: pid, parent: parent, ticks: user + system, endedChildrenTicks: childUser + childSystem, residentPages: resident)
    }
}

/// All processes at one moment.
public struct ProcessTable: Sendable {
    private let byParent: [Int: [ProcessStat]]
    private let byPID: [Int: ProcessStat]

    public init(_ stats: [ProcessStat]) {
        byParent = Dictionary(grouping: stats, by: \.parent)
        byPID = Dictionary(stats.map { ($0.pid, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Clock ticks of the process and all below it, ended ones included; nil if there is no such process.
    public func ticks(ofTree pid: Int) -> Int? {
        guard let root = byPID[pid] else { return nil }
        return (byParent[pid] ?? []).reduce(root.ticks + root.endedChildrenTicks) { $0 + (ticks(ofTree: $1.pid) ?? 0) }
    }

    public func residentPages(of pid: Int) -> Int? { byPID[pid]?.residentPages }
}
