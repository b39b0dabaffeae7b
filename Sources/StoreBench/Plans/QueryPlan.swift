import Foundation

/// What `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` answers, as far as it matters here.
public struct QueryPlan: Decodable, Sendable {
    public struct Node: Decodable, Sendable {
        let type: String
        let relation: String?
        let index: String?
        let indexCondition: String?
        let rows: Double?
        let loops: Double?
        let removed: Double?
        let parentRelationship: String?
        let hitBlocks: Int?
        let readBlocks: Int?
        let children: [Node]?

        enum CodingKeys: String, CodingKey {
            case type = "Node Type"
            case relation = "Relation Name"
            case index = "Index Name"
            case indexCondition = "Index Cond"
            case rows = "Actual Rows"
            case loops = "Actual Loops"
            case removed = "Rows Removed by Filter"
            case parentRelationship = "Parent Relationship"
            case hitBlocks = "Shared Hit Blocks"
            case readBlocks = "Shared Read Blocks"
            case children = "Plans"
        }
    }

    let root: Node
    /// Milliseconds.
    public let executionTime: Double

    enum CodingKeys: String, CodingKey {
        case root = "Plan"
        case executionTime = "Execution Time"
    }

    /// - Parameter json: the one value that EXPLAIN answers.
    init(json: String) throws {
        guard let plan = try JSONDecoder().decode([QueryPlan].self, from: Data(json.utf8)).first else {
            throw PlainDatabase.Fault(description: "an empty plan")
        }
        self = plan
    }

    /// Pages of 8 KiB.
    public var buffers: Int { (root.hitBlocks ?? 0) + (root.readBlocks ?? 0) }

    /// Partial indexes of what is still to be done: they are small, and read whole on purpose.
    private static let workLists: Set<String> = ["conversations_unprepared", "conversations_active"]

    /// What a plan must not do with tables that grow: read them whole, or read an index whole that no limit cuts short.
    ///
    /// - Parameters:
    ///   - growing: the tables.
    ///   - leading: of each ordered index the column that it is ordered by first. A condition on others alone still reads all of it.
    public func faults(growing: Set<String>, leading: [String: String]) -> [String] {
        var faults = Set<String>()
        Self.visit(root, isLimited: false) { node, isLimited in
            switch node.type {
            case "Seq Scan", "Parallel Seq Scan", "Sample Scan":
                if let relation = node.relation, growing.contains(relation) { faults.insert("\(node.type) on \(relation)") }
            case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
                guard let index = node.index, node.relation.map(growing.contains) ?? true, !Self.workLists.contains(index) else {
                    break
                }
                if !isLimited, !Self.leads(node.indexCondition, to: leading[index]) { faults.insert("\(index) is read whole") }
            case "Gather", "Gather Merge": faults.insert("parallel workers are started")
            default: break
            }
        }
        return faults.sorted()
    }

    /// Whether a condition such as `((a = $1) AND (b > 2))` or `(ROW(a, b) > ROW($1, 2))` is on `column`; any is, where none leads.
    private static func leads(_ condition: String?, to column: String?) -> Bool {
        guard let condition else { return false }
        guard let column else { return true }
        return condition.ranges(of: "(" + column).contains { range in
            let next = condition[range.upperBound...].first
            return next.map { $0 == " " || $0 == "," || $0 == ")" } ?? false
        }
    }

    private static func visit(_ node: Node, isLimited: Bool, _ body: (Node, Bool) -> Void) {
        body(node, isLimited)
        // A limit does not reach through what has to see all rows first.
        let isBlocking = ["Sort", "Aggregate", "Hash", "WindowAgg", "ModifyTable", "Materialize", "CTE Scan"].contains(node.type)
        for child in node.children ?? [] {
            let isApart = child.parentRelationship == "InitPlan" || child.parentRelationship == "SubPlan"
            visit(child, isLimited: node.type == "Limit" || isLimited && !isBlocking && !isApart, body)
        }
    }

    /// The kinds of scans with their indexes, each once, and what else is done, in the order of the plan from its top.
    public var summary: String {
        var scans: [(name: String, count: Int)] = []
        var others: [String] = []
        Self.visit(root, isLimited: false) { node, _ in
            guard node.type.hasSuffix("Scan") else {
                if !["Result", "Limit", "Subquery Scan", "Append", "Aggregate"].contains(node.type), !others.contains(node.type) {
                    others.append(node.type)
                }
                return
            }
            guard let source = node.index ?? (node.type == "Bitmap Heap Scan" ? nil : node.relation) else { return }
            let kind =
                switch node.type {
                case "Index Only Scan": "`\(source)` only"
                case "Bitmap Index Scan": "`\(source)` bitmap"
                case "Seq Scan": "**Seq Scan** `\(source)`"
                default: "`\(source)`"
                }
            if let index = scans.firstIndex(where: { $0.name == kind }) {
                scans[index].count += 1
            } else {
                scans.append((kind, 1))
            }
        }
        let list = scans.map { $0.count > 1 ? "\($0.name) × \($0.count)" : $0.name }.joined(separator: ", ")
        return others.isEmpty ? list : "\(list); \(others.joined(separator: ", "))"
    }

    /// Rows that some node read and threw away, at the most of all nodes.
    public var wasted: Int {
        var most = 0.0
        Self.visit(root, isLimited: false) { node, _ in most = max(most, (node.removed ?? 0) * (node.loops ?? 1)) }
        return Int(most)
    }
}
