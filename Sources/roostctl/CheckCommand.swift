import EventLoop
import OperatorTools
import PostgresStore
import RoostProtocol
import Runtime

/// `roostctl check`: looks through the database of a cluster, which may be at work, and mends what is certain where it is told to.
struct CheckCommand {
    let console: Console

    /// - Throws: ``AdminFault`` where damage is left, and where the database is away.
    func run(_ configuration: Configuration, repair: Bool) async throws {
        let loop = try EventLoop(name: "check")
        loop.start()
        let metrics = Metrics()
        let pool = PostgresPool(
            configuration: PostgresConfiguration(url: configuration[PostgresConfiguration.urlSetting]), loop: loop,
            connections: 1,
            logger: .silent, metrics: PostgresMetrics(metrics))
        pool.start()
        try await connect(pool)
        let report: IntegrityReport
        do {
            report = try await PostgresIntegrityStore(pool: pool).check(repair: repair) { [console] so in
                console.progress(
                    "\(so.conversations) conversations, \(so.messages) messages, \(so.findings.count) kinds of damage")
            }
        } catch {
            console.endProgress()
            throw AdminFault(ExitCode.unreachable, "the database could not be looked through: \(error)")
        }
        console.endProgress()
        show(report)
        await pool.stop()
        if !report.isMended { throw AdminFault(ExitCode.failed, "there is damage\(repair ? " that only people can mend" : "")") }
    }

    /// The pool connects by itself, a little after its start.
    private func connect(_ pool: PostgresPool) async throws {
        let end = ContinuousClock.now + .seconds(10)
        while true {
            do {
                return try await pool.ping()
            } catch {
                guard ContinuousClock.now < end else {
                    throw AdminFault(ExitCode.unreachable, "the database does not answer: \(error)")
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private func show(_ report: IntegrityReport) {
        if console.isJSON { return console.json(json(report)) }
        console.line("looked at \(report.conversations) conversations and \(report.messages) messages")
        guard !report.isClean else { return console.line(console.style.good("all is well")) }
        var table = Table(("DAMAGE", .left), ("FOUND", .right), ("MENDED", .right), ("MEANS", .left))
        for finding in report.findings {
            table.add(finding.code, "\(finding.count)", "\(finding.repaired)", meaning(finding.code))
        }
        console.print(table.text(console.style))
        for finding in report.findings {
            let more = finding.count > Int64(finding.subjects.count) ? ", …" : ""
            console.line(console.style.faint("\(finding.code): ") + finding.subjects.joined(separator: ", ") + more)
        }
    }

    private func meaning(_ code: String) -> String {
        PostgresIntegrityStore.kinds.first { $0.code == code }?.meaning ?? "a row of the cluster's tables that cannot be"
    }

    private func json(_ report: IntegrityReport) -> JSONValue {
        .object([
            "conversations": .number("\(report.conversations)"), "messages": .number("\(report.messages)"),
            "findings": .array(
                report.findings.map { finding in
                    .object([
                        "code": .string(finding.code), "meaning": .string(meaning(finding.code)),
                        "count": .number("\(finding.count)"), "repaired": .number("\(finding.repaired)"),
                        "subjects": .array(finding.subjects.map { .string($0) }),
                    ])
                }),
        ])
    }
}
