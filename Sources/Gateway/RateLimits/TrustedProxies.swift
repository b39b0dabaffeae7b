import EdgeServer

/// Whose word about a client's address is taken.
struct TrustedProxies: Sendable {
    private let blocks: [AddressBlock]

    init(_ blocks: [AddressBlock] = []) { self.blocks = blocks }

    private func trusts(_ address: ClientAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The client's address: the peer's, or where the peer is trusted the right-most of `X-Forwarded-For` that is not. Where each is
    /// trusted, or what stands there is no address, the last one that a trusted proxy vouched for.
    func client(of head: HTTPRequestHead) -> ClientAddress {
        var client = ClientAddress(head.remoteAddress) ?? .none
        guard !blocks.isEmpty, trusts(client) else { return client }
        for hop in head.headers.tokens("X-Forwarded-For").reversed() {
            guard let address = Self.address(hop) else { break }
            client = address
            if !trusts(client) { break }
        }
        return client
    }

    /// An element of the list: some proxies add the port, and brackets with it.
    private static func address(_ hop: String) -> ClientAddress? {
        if let address = ClientAddress(hop) { return address }
        if hop.hasPrefix("["), let end = hop.firstIndex(of: "]") {
            return ClientAddress(hop[hop.index(after: hop.startIndex)..<end])
        }
        let parts = hop.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? ClientAddress(parts[0]) : nil
    }
}
