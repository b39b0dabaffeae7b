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

    @Test func messageKeysCompareBytes() {
        func key(_ clientID: String) -> MessageKey {
            MessageKey(conversationID: ConversationID(high: 1, low: 1), senderID: UserID(high: 1, low: 2), clientID: clientID)
        }
        #expect(key("\u{E9}") != key("e\u{301}"))
        #expect(key("a") == key("a"))
        #expect(Set([key("\u{E9}"), key("e\u{301}"), key("\u{E9}")]).count == 2)
    }
}
