/// A statement that each connection prepares at its first use. Parameters are cast in the text: `$1::uuid`.
struct PostgresStatement: Sendable {
    /// Unique among all statements, ASCII.
    let name: String
    let text: String

    /// Before all ids. A place in an order that a parameter gives is written `(a, b) > (COALESCE($1, …), COALESCE($2, …))`, with what
    /// comes before everything where there is none: an index then leads there, as it would not with `$1 IS NULL OR …`.
    static let noID = "'00000000-0000-0000-0000-000000000000'::uuid"

    init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}

/// A statement with its parameters.
struct PostgresCommand: Sendable {
    let statement: PostgresStatement
    let parameters: PostgresParameters

    init(_ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()) {
        self.statement = statement
        self.parameters = parameters
    }

    init(_ statement: PostgresStatement, _ fill: (inout PostgresParameters) -> Void) {
        var parameters = PostgresParameters()
        fill(&parameters)
        self.init(statement, parameters)
    }
}
