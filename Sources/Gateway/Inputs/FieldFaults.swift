import RoostModel

/// Gathers what is wrong with several fields, so that one answer names all of it.
struct FieldFaults {
    private var faults: [FieldFault] = []

    /// The value, or nil where it is at fault. Errors that are about no field end the reading at once.
    mutating func collect<Value>(_ read: () throws(RoostError) -> Value) throws(RoostError) -> Value? {
        do {
            return try read()
        } catch {
            guard error.code == .validationFailed, !error.fields.isEmpty else { throw error }
            faults += error.fields
            return nil
        }
    }

    func check() throws(RoostError) {
        if !faults.isEmpty { throw RoostError(.validationFailed, fields: faults) }
    }
}
