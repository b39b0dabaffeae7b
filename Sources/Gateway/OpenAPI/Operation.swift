import EdgeServer
import RoostModel
import RoostProtocol

/// What the outside is told of one route, beside what the route itself says: who may ask, whether there is a body, and what follows
/// from that (``OpenAPIDocument`` adds it).
struct Operation: Sendable {
    /// The chapters of the document.
    enum Tag: String, CaseIterable, Sendable {
        case accounts = "Accounts"
        case people = "Users, contacts, presence"
        case conversations = "Conversations"
        case messages = "Messages"
        case node = "The node"
    }

    struct Parameter: Sendable {
        let name: String
        let schema: Schema
        var isRequired = false
        var description: String

        static let limit = Parameter(
            name: "limit", schema: Schema(["type": "integer", "minimum": 1, "default": .int(Limits.pageDefault)]),
            description: "How many at most; above \(Limits.pageMaximum) it is cut.")
        static let cursor = Parameter(
            name: "cursor", schema: .text, description: "`nextCursor` of the page before; none or empty for the first.")

        static func text(_ name: String, _ description: String) -> Parameter {
            Parameter(name: name, schema: .text, description: description)
        }

        static func flag(_ name: String, _ description: String) -> Parameter {
            Parameter(name: name, schema: .bool, description: description)
        }

        static func seq(_ name: String, _ description: String) -> Parameter {
            Parameter(name: name, schema: .counter, description: description)
        }

        var required: Parameter { Parameter(name: name, schema: schema, isRequired: true, description: description) }
    }

    struct Answer: Sendable {
        let status: Int
        let description: String
        let schema: Schema?

        static func ok(_ schema: Schema, _ description: String = "Done.") -> Answer {
            Answer(status: 200, description: description, schema: schema)
        }
        static func created(_ schema: Schema, _ description: String = "Made.") -> Answer {
            Answer(status: 201, description: description, schema: schema)
        }
        static let accepted = Answer(status: 202, description: "Taken; whether anything comes of it is not told.", schema: nil)
        static let noContent = Answer(status: 204, description: "Done.", schema: nil)
    }

    let method: Route.Method
    let path: String
    let tag: Tag
    let summary: String
    let query: [Parameter]
    let body: Schema?
    let answers: [Answer]
    let problems: [ErrorCode]

    /// - Parameters:
    ///   - summary: one line.
    ///   - problems: those that do not follow from the route: not tokens, rates, forms of ids, queries and bodies.
    init(
        _ method: Route.Method, _ path: String, _ tag: Tag, _ summary: String, query: [Parameter] = [], body: Schema? = nil,
        _ answers: Answer..., problems: [ErrorCode] = []
    ) {
        self.method = method
        self.path = path
        self.tag = tag
        self.summary = summary
        self.query = query
        self.body = body
        self.answers = answers
        self.problems = problems
    }

    /// All that are described, also of routes that are not in a table yet.
    static let all = accounts + people + conversations + messages + node
}
