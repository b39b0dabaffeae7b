import RoostModel
import RoostProtocol

/// `{email, password, displayName?, device?}`
struct RegisterInput {
    let email: String
    /// In NFC, of an allowed length.
    let password: String
    let displayName: String?
    let device: DeviceInput

    /// A weak password is told only when nothing else is wrong: it has a code of its own and no field.
    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let email = try faults.collect { () throws(RoostError) in try Email.validated(try body.requiredString("email")) }
        let password = try faults.collect { () throws(RoostError) in try body.requiredString("password") }
        let displayName = try faults.collect { () throws(RoostError) in try body.displayName() }
        let device = try faults.collect { () throws(RoostError) in try DeviceInput(body) }
        try faults.check()
        guard let email, let password, let displayName, let device else { throw RoostError(.internalError) }
        self.email = email.value
        self.password = try Password.validated(password)
        self.displayName = displayName
        self.device = device
    }
}

/// `{displayName?, device?}`
struct GuestInput {
    let displayName: String?
    let device: DeviceInput

    init(_ body: JSONBody) throws(RoostError) {
        displayName = try body.displayName()
        device = try DeviceInput(body)
    }
}

/// `{email, password, device?}`
struct LoginInput {
    /// Nil where nobody can have such an address.
    let email: String?
    let password: String
    let device: DeviceInput

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let email = try faults.collect { () throws(RoostError) in try body.requiredString("email") }
        let password = try faults.collect { () throws(RoostError) in try body.requiredString("password") }
        let device = try faults.collect { () throws(RoostError) in try DeviceInput(body) }
        try faults.check()
        guard let email, let password, let device else { throw RoostError(.internalError) }
        self.email = Email(email)?.value
        self.password = Password.normalized(password)
        self.device = device
    }
}

/// `device: {name?, platform?}`: how a list of devices shows it. Blank ones are none.
struct DeviceInput {
    let name: String?
    let platform: String?

    init(_ body: JSONBody) throws(RoostError) {
        let device = try body.object("device")
        name = try Self.text(device, "name")
        platform = try Self.text(device, "platform")
    }

    private static func text(_ device: JSONBody?, _ name: String) throws(RoostError) -> String? {
        guard let text = try device?.string(name), !MessageText.isBlank(text) else { return nil }
        return try DisplayText.name(text, field: "device.\(name)")
    }
}

extension JSONBody {
    fileprivate func displayName() throws(RoostError) -> String? {
        guard let text = try string("displayName") else { return nil }
        return try DisplayText.name(text, field: "displayName")
    }
}
