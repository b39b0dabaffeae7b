import EdgeServer
import Testing

@testable import Gateway

@Suite struct ClientAddressTests {
    @Test func bothFormsOfIPv4AreOne() throws {
        let four = try #require(ClientAddress("192.0.2.7"))
        #expect(four == ClientAddress("::ffff:192.0.2.7") && four.isIPv4 && four.counted == four)
        #expect(four != ClientAddress("192.0.2.8"))
    }

    @Test func sixIsCountedByItsNetwork() throws {
        let one = try #require(ClientAddress("2001:db8:1:2::1"))
        #expect(one.counted == ClientAddress("2001:db8:1:2:ffff:ffff:ffff:ffff")?.counted)
        #expect(one.counted != ClientAddress("2001:db8:1:3::1")?.counted)
        #expect(ClientAddress("fe80::1%eth0") == ClientAddress("fe80::1"))
    }

    @Test(arguments: ["", "unknown", "1.2.3", "1.2.3.4:80", "[::1]", "1.2.3.256", "::g", "0x7f.1", " 1.2.3.4"])
    func othersAreNone(_ text: String) {
        #expect(ClientAddress(text) == nil)
    }

    /// a block, an address, whether it is in it
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/8", "a00::", false), ("fd00:1::/33", "fd00:1:7fff::9", true), ("fd00:1::/33", "fd00:1:8000::9", false),
        ("::1", "::1", true), ("::1", "::2", false), ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.0", false),
        ("0.0.0.0/0", "203.0.113.1", true), ("0.0.0.0/0", "2001:db8::1", false), ("::/0", "203.0.113.1", true),
        ("2001:db8:0:1::/64", "2001:db8:0:1::9", true), ("2001:db8:0:1::/64", "2001:db8:0:2::9", false),
    ]) func blocks(_ block: String, _ address: String, _ isIn: Bool) throws {
        let block = try #require(AddressBlock(block))
        let address = try #require(ClientAddress(address))
        #expect(block.contains(address) == isIn)
    }

    @Test(arguments: ["", "10.0.0.0/33", "10.0.0.1/8", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/08", "x/8", "::1/64"])
    func noBlocks(_ text: String) {
        #expect(AddressBlock(text) == nil)
    }

    /// peer, `X-Forwarded-For` lines, the client
    @Test(arguments: [
        ("203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1, 10.9.9.9"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1", "10.9.9.9, 10.8.8.8"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        ("10.0.0.1", ["198.51.100.1, unknown, 10.2.2.2"], "10.2.2.2"),
        ("10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("", ["198.51.100.1"], "::"),
    ]) func theRightMostThatIsNotTrusted(_ peer: String, _ lines: [String], _ client: String) throws {
        let proxies = TrustedProxies([try #require(AddressBlock("10.0.0.0/8"))])
        var head = try HTTPRequestHead(
            method: "GET", target: "/", headers: HTTPHeaders(lines.map { ("X-Forwarded-For", $0) }))
        head.remoteAddress = peer
        #expect(proxies.client(of: head) == ClientAddress(client))
    }
}
