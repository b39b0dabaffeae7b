import RoostModel
import Testing

@testable import RoostProtocol

@Suite struct JSONBodyTests {
    private func body(_ text: String) throws -> JSONBody { try JSONBody(Array(text.utf8)) }

    private func code(_ work: () throws -> Void) -> ErrorCode? {
        do {
            try work()
            return nil
        } catch { return (error as? RoostError)?.code }
    }

    @Test func missingFieldsAreRequiredAndWrongTypesMalformed() throws {
        let body = try body(#"{"a":"x","n":null,"number":7,"flag":true,"device":{"name":5},"list":["a",1]}"#)
        #expect(try body.requiredString("a") == "x")
        #expect(throws: RoostError.invalid("b", .required)) { try body.requiredString("b") }
        #expect(throws: RoostError.invalid("n", .required)) { try body.requiredString("n") }
        #expect(code { _ = try body.string("number") } == .malformed)
        #expect(code { _ = try body.bool("a") } == .malformed)
        #expect(code { _ = try body.integer("a") } == .malformed)
        #expect(code { _ = try body.strings("list") } == .malformed)
        #expect(code { _ = try body.object("a") } == .malformed)
        #expect(code { _ = try body.object("device")?.string("name") } == .malformed)
        #expect(throws: RoostError.invalid("device.platform", .required)) {
            try body.object("device")?.requiredString("platform")
        }
        #expect(try body.bool("flag") == true)
        #expect(try body.requiredSeq("number") == Seq(7))
        #expect(throws: RoostError.invalid("a", .unknown)) { try body.identifier("a", UserID.self) }
    }

    @Test func aPatchTellsAbsentFromNull() throws {
        let body = try body(#"{"cleared":null,"set":"x"}"#)
        #expect(try body.patchString("absent") == .none)
        #expect(try body.patchString("cleared") == .some(nil))
        #expect(try body.patchString("set") == .some("x"))
    }

    @Test(arguments: ["", "[]", "1", "{", #"{"a":"\u0000"}"#, "{}{}"]) func whatIsNoObjectIsMalformed(_ text: String) {
        #expect(code { _ = try body(text) } == .malformed)
    }

    @Test func noBodyMayBeAnEmptyOne() throws { #expect(try JSONBody(optional: [UInt8]()).string("a") == nil) }
}
