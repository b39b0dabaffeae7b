import RoostModel

extension ByteWriter {
    /// Everything of the error that its reader shows.
    public mutating func append(_ error: RoostError) {
        append(error.code.rawValue)
        append(error.detail)
        append(UInt16(error.fields.count))
        for fault in error.fields {
            append(fault.field)
            append(fault.code.rawValue)
        }
    }
}

extension ByteReader {
    /// A code that a newer release added reads as "try again".
    public mutating func error() throws(Truncated) -> RoostError {
        let code = ErrorCode(rawValue: try string()) ?? .unavailable
        let detail = try string()
        var fields: [FieldFault] = []
        for _ in 0..<(try uint16()) {
            let name = try string()
            fields.append(FieldFault(name, FieldFault.Code(rawValue: try string()) ?? .invalid))
        }
        return RoostError(code, detail, fields: fields)
    }
}
