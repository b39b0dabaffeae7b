import RoostModel
import RoostProtocol

// As at a registration, a weak password is told only when nothing else is wrong.

/// `{email, password}`
struct LinkInput {
    let email: String
    /// In NFC, of an allowed length.
    let password: String

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let email = try faults.collect { () throws(RoostError) in try Email.validated(try body.requiredString("email")) }
        let password = try faults.collect { () throws(RoostError) in try body.requiredString("password") }
        try faults.check()
        guard let email, let password else { throw RoostError(.internalError) }
        self.email = email.value
        self.password = try Password.validated(password)
    }
}

/// `{token, newPassword}`
struct ResetInput {
    /// Nil where it cannot be one.
    let token: SecretToken?
    let newPassword: String

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let token = try faults.collect { () throws(RoostError) in try body.requiredString("token") }
        let password = try faults.collect { () throws(RoostError) in try body.requiredString("newPassword") }
        try faults.check()
        guard let token, let password else { throw RoostError(.internalError) }
        self.token = SecretToken(token)
        newPassword = try Password.validated(password)
    }
}

/// `{currentPassword, newPassword}`
struct ChangePasswordInput {
    /// In NFC; one that breaks the rules is simply wrong.
    let currentPassword: String
    let newPassword: String

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let current = try faults.collect { () throws(RoostError) in try body.requiredString("currentPassword") }
        let new = try faults.collect { () throws(RoostError) in try body.requiredString("newPassword") }
        try faults.check()
        guard let current, let new else { throw RoostError(.internalError) }
        currentPassword = Password.normalized(current)
        newPassword = try Password.validated(new)
    }
}
