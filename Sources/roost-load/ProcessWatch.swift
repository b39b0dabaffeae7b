import EventLoop
import Glibc
import LoadCore

/// Processor time and memory of this machine's processes, from /proc.
struct ProcessWatch: Sendable {
    /// Name and process; each with all below it.
    let processes: [(name: String, pid: Int)]

    init(_ surroundings: Surroundings) {
        var processes = surroundings.targets.compactMap { target in target.pid.map { (name: target.name, pid: $0) } }
        if let pid = surroundings.cluster?.postgresPID { processes.append(("postgres", pid)) }
        if let pid = surroundings.cluster?.natsPID { processes.append(("nats-server", pid)) }
        processes.append(("roost-load", Int(getpid())))
        self.processes = processes
    }

    /// Seconds of processor time until now.
    struct Sample: Sendable {
        let at: MonotonicTime
        let seconds: [Double?]
        /// Idle processor seconds of the machine since it started.
        let idle: Double
    }

    func sample() -> Sample {
        let table = ProcessTable(Self.allProcesses())
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        return Sample(
            at: .now, seconds: processes.map { table.ticks(ofTree: $0.pid).map { Double($0) / ticks } }, idle: Self.idleSeconds())
    }

    /// What each used between two samples; a process that is new or gone is left out.
    func used(from first: Sample, to last: Sample) -> [RunReport.CPU] {
        zip(processes, zip(first.seconds, last.seconds)).compactMap { process, seconds in
            guard let before = seconds.0, let after = seconds.1, after >= before else { return nil }
            return RunReport.CPU(name: process.name, seconds: after - before)
        }
    }

    /// Processors kept busy, on average, by what is not watched here. Idle time is exact where tick accounting is not.
    func foreign(from first: Sample, to last: Sample) -> Double {
        let elapsed = Double((last.at - first.at).nanoseconds) / 1e9
        guard elapsed > 0 else { return 0 }
        let busy = elapsed * Double(sysconf(Int32(_SC_NPROCESSORS_ONLN))) - (last.idle - first.idle)
        return max(0, (busy - used(from: first, to: last).reduce(0) { $0 + $1.seconds }) / elapsed)
    }

    /// Resident bytes of one process; nil if it is gone.
    static func residentBytes(_ pid: Int) -> Int? {
        // smaps_rollup counts pages; statm may lag behind by some on many processors.
        if let text = Output.read("/proc/\(pid)/smaps_rollup"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Rss:") }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        {
            return kibibytes * 1024
        }
        guard let fields = Output.read("/proc/\(pid)/statm")?.split(separator: " "), fields.count > 1 else { return nil }
        return Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    private static func allProcesses() -> [ProcessStat] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        var stats: [ProcessStat] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.first?.isNumber == true, let text = Output.read("/proc/\(name)/stat"), let stat = ProcessStat(text) else {
                continue
            }
            stats.append(stat)
        }
        return stats
    }

    private static func idleSeconds() -> Double {
        // proc(5): cpu user nice system idle iowait …
        let fields = (Output.read("/proc/stat") ?? "").prefix { $0 != "\n" }.split(separator: " ")
        guard fields.count > 5, let idle = Double(fields[4]), let waiting = Double(fields[5]) else { return 0 }
        return (idle + waiting) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
