import Glibc

/// The process itself, read from /proc when asked.
public enum ProcessMetrics {
    public static func register(in metrics: Metrics) {
        metrics.gauge("process_resident_memory_bytes", help: "Resident memory size in bytes.") { Double(residentBytes()) }
        metrics.counter("process_cpu_seconds_total", help: "User and system CPU time in seconds.") { cpuSeconds() }
        metrics.gauge("process_open_fds", help: "Open file descriptors.") { Double(openDescriptors()) }
        metrics.gauge("process_threads", help: "Threads of the process.") { Double(threads()) }
    }

    public static func residentBytes() -> Int {
        // proc(5): statm gives pages: size, resident, …
        guard let text = Configuration.readFile("/proc/self/statm") else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    public static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    public static func openDescriptors() -> Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without ".", ".." and the descriptor of the directory itself.
        return max(0, count - 3)
    }

    public static func threads() -> Int {
        // proc(5): stat's second field is the name in parentheses, which may hold blanks; the threads are the 18th after it.
        guard let text = Configuration.readFile("/proc/self/stat"), let end = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 17 ? Int(fields[17]) ?? 0 : 0
    }
}
