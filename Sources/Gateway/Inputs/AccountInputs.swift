import RoostModel
import RoostProtocol

/// `{email, password, displayName?, device?}`
struct RegisterInput {
    let email: String
    /// In NFC, of an allowed length.
    let password: String
    let displayName: String?
    let device: DeviceInput

    init(_ body: JSONBody) throws(RoostError) {
        var faults = FieldFaults()
        let email = try faults.collect { () throws(RoostError) in
            try EmailAddress.normalised(try body.requiredString("email"), field: "email")
        }
        let password = try faults.collect { () throws(RoostError) in try body.requiredString("password") }
        let displayName = try faults.collect { () throws(RoostError) in
            try body.string("displayName").map { (text) throws(RoostError) in try Name.normalised(text, field: "displayName") }
        }
        let device = try faults.collect { () throws(RoostError) in try DeviceInput(body) }
        try faults.check()
        guard let email, let password, let displayName, let device else { throw RoostError(.internalError) }
        self.email = email
        self.password = try Password.normalised(password)
        self.displayName = displayName
        self.device = device
    }
}

/// `{displayName?, device?}`
struct GuestInput {
    let displayName: String?
    let device: DeviceInput

    init(_ body: JSONBody) throws(RoostError) {
        displayName = try body.string("displayName").map { (text) throws(RoostError) in
            try Name.normalised(text, field: "displayName")
        }
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
        self.email = try? EmailAddress.normalised(email, field: "email")
        // One that was never allowed is wrong like any other.
        self.password = password.nfc
        self.device = device
    }
}

/// `device: {name?, platform?}`: how a list of devices shows it.
struct DeviceInput {
    let name: String?
    let platform: String?

    init(_ body: JSONBody) throws(RoostError) {
        let device = try body.object("device")
        name = try device?.string("name").map { (text) throws(RoostError) in try Name.normalised(text, field: "device.name") }
        platform = try device?.string("platform").map { (text) throws(RoostError) in
            try Name.normalised(text, field: "device.platform")
        }
    }
}
