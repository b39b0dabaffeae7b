import Ports
import RoostModel
import RoostProtocol

/// `{email|userId, nickname?, photoMediaId?}`: exactly one of the first two.
struct NewContactInput {
    enum Subject {
        /// Normalised.
        case email(String)
        case userID(UserID)

        var isEmail: Bool {
            switch self {
            case .email: true
            case .userID: false
            }
        }

        /// Its name in the request.
        var field: String { isEmail ? "email" : "userId" }
    }

    let subject: Subject
    let nickname: String?

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let subject = try faults.collect { () throws(RoostError) in try Self.subject(body) }
        let change = try faults.collect { () throws(RoostError) in try ContactInput(body).change }
        try faults.check()
        guard let subject, let change else { throw RoostError(.internalError) }
        self.subject = subject
        nickname = change.nickname ?? nil
    }

    private static func subject(_ body: JSONBody) throws(RoostError) -> Subject {
        if let text = try body.string("email") {
            if try body.string("userId") != nil { throw .invalid("userId", .invalid) }
            return .email(try Email.validated(text).value)
        }
        guard let id = try body.identifier("userId", UserID.self) else { throw .invalid("email", .required) }
        return .userID(id)
    }
}

/// `{nickname?, photoMediaId?}`: absent leaves, null clears, and so does a blank nickname.
struct ContactInput {
    let change: ContactChange

    init(_ body: JSONBody) throws(RoostError) {
        var change = ContactChange()
        if let nickname = try body.patchString("nickname") {
            let given = nickname.flatMap { MessageText.isBlank($0) ? nil : $0 }
            change.nickname = .some(nil)
            if let given { change.nickname = try DisplayText.name(given, field: "nickname") }
        }
        self.change = change
    }
}
