import RoostModel
import Testing

@Suite struct ValueTests {
    @Test func identifiersAreCanonicalOnly() throws {
        let text = "01936d3e-0000-7000-8000-0000000000c1"
        #expect(try #require(UserID(text)).description == text)
        for wrong in [
            "", "*", text.uppercased(), text + "0", String(text.dropLast()), text.replacing("-", with: "_"),
            " " + text.dropLast(),
        ] {
            #expect(UserID(wrong) == nil)
        }
    }

    @Test func identifiersRiseWithTime() {
        let times = (0..<100).map { Timestamp(milliseconds: 1_796_040_000_000 + $0) }
        var random = SystemRandomNumberGenerator()
        let ids = times.map { UserID(at: $0, using: &random) }
        #expect(ids == ids.sorted())
        #expect(ids.allSatisfy { $0.description.dropFirst(14).first == "7" })
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_796_058_000_123, "2026-11-30T17:00:00.123Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ]) func timesHaveOneForm(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        ("2026-11-30T17:00:00Z", 1_796_058_000_000), ("2026-11-30t17:00:00z", 1_796_058_000_000),
        ("2026-11-30T17:00:00.1Z", 1_796_058_000_100), ("2026-11-30T17:00:00.123456789Z", 1_796_058_000_123),
        ("2026-11-30T18:30:00+01:30", 1_796_058_000_000), ("2026-11-30T09:00:00.5-08:00", 1_796_058_000_500),
        ("2026-11-30T17:00:00-00:00", 1_796_058_000_000), ("2028-02-29T00:00:00Z", 1_835_395_200_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ]) func everyFormOfRFC3339IsRead(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        "", "2026-11-30", "2026-11-30T17:00Z", "2026-11-30T17:00:00", "2026-11-30 17:00:00Z", "2026-11-30T17:00:00.Z",
        "2026-11-30T17:00:00Z ", " 2026-11-30T17:00:00Z", "2026-11-30T17:00:00+0100", "2026-11-30T17:00:00+01",
        "2026-11-30T17:00:00+24:00",
        "2026-11-30T17:00:00+01:60", "2026-11-31T00:00:00Z", "2026-02-29T00:00:00Z", "2030-02-30T00:00:00.000Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T17:60:00Z", "2026-11-30T17:00:61Z",
        "12026-11-30T17:00:00Z", "+026-11-30T17:00:00Z", "2026-11-30T17:00:00,5Z", "٢٠٢٦-11-30T17:00:00Z",
        "0000-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-00:01", "2026-11-30T17:00:00.5Zx", "2026-11-30T17:00:00.12a4Z",
    ]) func whatIsNoTimeIsNone(_ text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func messageKeysCompareBytes() {
        func key(_ clientID: String) -> MessageKey {
            MessageKey(conversationID: ConversationID(high: 1, low: 1), senderID: UserID(high: 1, low: 2), clientID: clientID)
        }
        #expect(key("\u{E9}") != key("e\u{301}"))
        #expect(key("a") == key("a"))
        #expect(Set([key("\u{E9}"), key("e\u{301}"), key("\u{E9}")]).count == 2)
    }
}
