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
    let photoID: MediaID??

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let subject = try faults.collect { () throws(RoostError) in try Self.subject(body) }
        let entry = try faults.collect { () throws(RoostError) in try ContactInput(body) }
        try faults.check()
        guard let subject, let entry else { throw RoostError(.internalError) }
        self.subject = subject
        nickname = entry.change.nickname ?? nil
        photoID = entry.photoID
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
    /// Without the photo, which has to be looked up.
    let change: ContactChange
    let photoID: MediaID??

    init(_ body: JSONBody) throws(RoostError) {
        var change = ContactChange()
        if let nickname = try body.patchString("nickname") {
            let given = nickname.flatMap { MessageText.isBlank($0) ? nil : $0 }
            change.nickname = .some(nil)
            if let given { change.nickname = try DisplayText.name(given, field: "nickname") }
        }
        self.change = change
        photoID = body.members["photoMediaId"] == nil ? nil : .some(try body.identifier("photoMediaId"))
    }
}
