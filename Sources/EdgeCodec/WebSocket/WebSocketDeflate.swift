/// What permessage-deflate (RFC 7692) agreed on, seen from our end.
public struct WebSocketDeflate: Sendable, Equatable {
    /// Whether our messages may refer back to earlier ones (costs a zlib state per connection).
    public var keepsContext: Bool
    /// Whether the peer's may.
    public var peerKeepsContext: Bool
    /// The window of our messages, 9…15.
    public var windowBits: Int

    public init(keepsContext: Bool, peerKeepsContext: Bool, windowBits: Int = 15) {
        self.keepsContext = keepsContext
        self.peerKeepsContext = peerKeepsContext
        self.windowBits = windowBits
    }

    /// The server's choice among a client's offers.
    /// - Parameters:
    ///   - offers: the elements of all `Sec-WebSocket-Extensions` lines.
    ///   - contextTakeover: false to ask for messages that stand alone both ways, so that idle connections hold no zlib state.
    /// - Returns: nil where no offer can be accepted (the connection then goes on uncompressed), else also the response's value.
    public static func accept(_ offers: [String], contextTakeover: Bool) -> (agreed: WebSocketDeflate, header: String)? {
        for offer in offers {
            guard let parameters = parse(offer), let accepted = accept(parameters, contextTakeover: contextTakeover) else {
                continue
            }
            return accepted
        }
        return nil
    }

    private static func accept(
        _ parameters: [String: String?], contextTakeover: Bool
    ) -> (agreed: WebSocketDeflate, header: String)? {
        var agreed = WebSocketDeflate(keepsContext: contextTakeover, peerKeepsContext: contextTakeover)
        var header = "permessage-deflate"
        for (name, value) in parameters {
            switch name {
            case "server_no_context_takeover":
                if value != nil { return nil }
                agreed.keepsContext = false
            case "client_no_context_takeover":
                if value != nil { return nil }
                agreed.peerKeepsContext = false
            case "server_max_window_bits":
                // zlib cannot do 8; such an offer is declined.
                guard let bits = value.flatMap(windowBits), bits >= 9 else { return nil }
                agreed.windowBits = bits
            case "client_max_window_bits":
                // A bound on the client's own window: we can inflate any.
                if let value, windowBits(value) == nil { return nil }
            default: return nil
            }
        }
        if !agreed.keepsContext { header += "; server_no_context_takeover" }
        if !agreed.peerKeepsContext { header += "; client_no_context_takeover" }
        if agreed.windowBits < 15 { header += "; server_max_window_bits=\(agreed.windowBits)" }
        return (agreed, header)
    }

    /// The client's offer.
    public static func offer(contextTakeover: Bool) -> String {
        contextTakeover
            ? "permessage-deflate; client_max_window_bits"
            : "permessage-deflate; client_max_window_bits; server_no_context_takeover; client_no_context_takeover"
    }

    /// The client's reading of the response.
    /// - Returns: nil where the server answered something that was not offered: the connection must fail.
    public static func confirm(_ response: String, offeredTakeover: Bool) -> WebSocketDeflate? {
        guard let parameters = parse(response) else { return nil }
        var agreed = WebSocketDeflate(keepsContext: offeredTakeover, peerKeepsContext: true)
        for (name, value) in parameters {
            switch name {
            case "server_no_context_takeover":
                if value != nil { return nil }
                agreed.peerKeepsContext = false
            case "client_no_context_takeover":
                if value != nil { return nil }
                agreed.keepsContext = false
            case "server_max_window_bits": if value.flatMap(windowBits) == nil { return nil }
            case "client_max_window_bits":
                guard let bits = value.flatMap(windowBits), bits >= 9 else { return nil }
                agreed.windowBits = bits
            default: return nil
            }
        }
        // A server may ignore that we asked for messages that stand alone only by not answering at all.
        if !offeredTakeover && agreed.peerKeepsContext { return nil }
        return agreed
    }

    private static func windowBits(_ text: String) -> Int? {
        guard let value = Int(text), (8...15).contains(value), text.utf8.count == (value < 10 ? 1 : 2) else { return nil }
        return value
    }

    /// - Returns: nil for another extension, and for a broken or doubled parameter.
    private static func parse(_ element: String) -> [String: String?]? {
        var parts = element.split(separator: ";", omittingEmptySubsequences: false).map { ASCII.trim($0) }
        guard parts.removeFirst() == "permessage-deflate" else { return nil }
        var parameters: [String: String?] = [:]
        for part in parts {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { ASCII.trim($0) }
            guard ASCII.isToken(pair[0]) else { return nil }
            var value: String?
            if pair.count == 2 {
                var text = pair[1]
                if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
                value = String(text)
            }
            guard parameters.updateValue(value, forKey: String(pair[0])) == nil else { return nil }
        }
        return parameters
    }
}
