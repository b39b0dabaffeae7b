/// `docs/queries.md`.
public struct PlanReport {
    private let findings: [PlanCheck.Finding]
    private let context: String

    /// - Parameter context: what it was made on.
    public init(_ findings: [PlanCheck.Finding], context: String) {
        self.findings = findings
        self.context = context
    }

    public var text: String {
        var lines = [
            "# Queries",
            "",
            "How PostgreSQL finds what is asked often. Written by `roost-bench-store explain`, which fails where a plan reads a table that",
            "grows as a whole, or all of an index without a limit, also within functions; a small form of it is among the tests.",
            "",
            context,
            "",
            "Each line is one plan: its indexes with how often each stands in it, then what else it does. The times are EXPLAIN's, in",
            "milliseconds, with the pages in memory, and the pages (of 8 KiB) are those touched: for a user as busy as the median, and for",
            "the busiest of a thousand, in the conversation of theirs with the most messages. Statements are prepared: the plan is the one",
            "for any parameters, and where one for the very parameters differs, it has a line of its own. *Wasted* are the rows that were",
            "read and filtered away by one node of the busy user's plan.",
            "",
            "| query | for | plan | usual: pages, ms | busy: pages, ms | wasted |",
            "| --- | --- | --- | ---: | ---: | ---: |",
        ]
        for finding in findings { lines += rows(finding) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func rows(_ finding: PlanCheck.Finding) -> [String] {
        func plan(_ label: String) -> QueryPlan? { finding.plans.first { $0.label == label }?.plan }
        var rows: [String] = []
        if let usual = plan("usual"), let busy = plan("busy") {
            rows.append(row(finding.query.title, finding.query.purpose, usual, busy))
            if let usualCustom = plan("usual, custom"), let busyCustom = plan("busy, custom"),
                busyCustom.summary != busy.summary
            {
                rows.append(row("", "(for these parameters)", usualCustom, busyCustom))
            }
        }
        return rows
    }

    private func row(_ title: String, _ purpose: String, _ usual: QueryPlan, _ busy: QueryPlan) -> String {
        func cost(_ plan: QueryPlan) -> String { "\(plan.buffers), \(milliseconds(plan.executionTime))" }
        return "| \(title) | \(purpose) | \(busy.summary) | \(cost(usual)) | \(cost(busy)) | \(busy.wasted) |"
    }

    private func milliseconds(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
