import Ports
import RoostModel
import RoostProtocol

/// The body of `PATCH /v1/me`: absent leaves, null clears what can be cleared.
struct ProfileInput {
    /// All but the photo, which has to be looked up; nil where nothing is to change.
    let change: ProfileChange?
    let photoID: MediaID??

    init(_ body: JSONBody) throws(RoostError) {
        var change = ProfileChange()
        var faults = FieldFaults()
        var isEmpty = true
        var photo: MediaID??

        /// Reads a text field; nil clears it.
        func text(
            _ name: String, _ validate: (String, String) throws(RoostError) -> String?,
            set: (String?) throws(RoostError) -> Void
        ) throws(RoostError) {
            _ = try faults.collect { () throws(RoostError) in
                guard let given = try body.patchString(name) else { return }
                if let given { try set(try validate(given, name)) } else { try set(nil) }
                isEmpty = false
            }
        }

        try text("firstName", Self.name) { change.firstName = .some($0) }
        try text("lastName", Self.name) { change.lastName = .some($0) }
        try text("displayName", Self.name) { (name) throws(RoostError) in
            // Everybody has one.
            guard let name else { throw .invalid("displayName", .required) }
            change.displayName = name
        }
        try text("phone", PhoneNumber.validated) { change.phone = .some($0) }
        try text("about", DisplayText.about) { change.about = .some($0) }
        _ = try faults.collect { () throws(RoostError) in
            guard body.members["photoMediaId"] != nil else { return }
            photo = .some(try body.identifier("photoMediaId"))
            isEmpty = false
        }
        _ = try faults.collect { () throws(RoostError) in
            if try Self.read(body, into: &change) { isEmpty = false }
        }
        try faults.check()
        self.change = isEmpty ? nil : change
        photoID = photo
    }

    private static func name(_ text: String, field: String) throws(RoostError) -> String? {
        try DisplayText.name(text, field: field)
    }

    /// - Returns: whether there was anything.
    private static func read(_ body: JSONBody, into change: inout ProfileChange) throws(RoostError) -> Bool {
        guard body.members["settings"] != nil else { return false }
        guard let settings = try body.object("settings") else { throw .invalid("settings", .required) }
        var isEmpty = true
        func flag(_ name: String) throws(RoostError) -> Bool? {
            guard settings.members[name] != nil else { return nil }
            isEmpty = false
            return try settings.requiredBool(name)
        }
        change.shareLastSeen = try flag("shareLastSeen")
        change.shareReadReceipts = try flag("shareReadReceipts")
        change.directoryVisible = try flag("directoryVisible")
        change.pushPreview = try flag("pushPreview")
        return !isEmpty
    }
}
