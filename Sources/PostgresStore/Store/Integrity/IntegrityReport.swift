import RoostModel

/// What a check of the stored data found.
public struct IntegrityReport: Hashable, Sendable {
    /// One for each kind of damage, in the order of ``PostgresIntegrityStore/kinds``; those of the cluster's tables first.
    public var findings: [IntegrityFinding] = []
    /// How many were looked at.
    public var conversations: Int64 = 0
    public var messages: Int64 = 0

    public init() {}

    /// Whether nothing was found.
    public var isClean: Bool { findings.isEmpty }

    /// Whether nothing was found that is still there.
    public var isMended: Bool { findings.allSatisfy(\.isRepaired) }
}

public struct IntegrityFinding: Hashable, Sendable {
    /// A stable word, such as `memberCount`.
    public let code: String
    /// The first ``subjectLimit`` of what is damaged: `conversation/<id>`, `message/<conversation>/<seq>`, `node/<incarnation>`,
    /// `shard/<kind>/<number>`, `actor/<id>`, `operation/<id>`, `user/<id>`, `mail/<number>`, `cluster`.
    public internal(set) var subjects: [String]
    /// How many there are.
    public internal(set) var count: Int64
    /// How many of them were repaired.
    public internal(set) var repaired: Int64

    public var isRepaired: Bool { repaired == count }

    public static let subjectLimit = 20
}

/// One kind of damage.
public struct IntegrityKind: Hashable, Sendable {
    public let code: String
    /// What is wrong, for people.
    public let meaning: String
    /// What a repair does; nil where only people can tell what is right.
    public let remedy: String?
}

/// A look for one kind of damage in a part of a table, and how it is mended. Statements answer a subject a row; a repair gets the same
/// parameters, and is judged by looking again.
struct IntegrityCheck: Sendable {
    let kind: IntegrityKind
    let find: PostgresStatement
    let repair: [PostgresStatement]

    /// - Parameter repair: one transaction; with a remedy there is at least one.
    init(_ code: String, _ meaning: String, remedy: String? = nil, find: String, repair: [String] = []) {
        precondition((remedy == nil) == repair.isEmpty)
        kind = IntegrityKind(code: code, meaning: meaning, remedy: remedy)
        self.find = PostgresStatement("check \(code)", find)
        self.repair = repair.enumerated().map { PostgresStatement("repair \(code) \($0)", $1) }
    }
}
