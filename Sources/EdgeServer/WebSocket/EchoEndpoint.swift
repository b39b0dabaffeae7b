/// A WebSocket that sends back what it gets, for conformance runs. Off in production: it lends its memory to anyone.
public enum EchoEndpoint {
    /// - Parameter maxMessageBytes: conformance suites send up to 16 MiB.
    public static func acceptance(maxMessageBytes: Int = 32 << 20, contextTakeover: Bool = true) -> WebSocketAcceptance {
        WebSocketAcceptance(
            maxMessageBytes: maxMessageBytes, compression: true, contextTakeover: contextTakeover, compressionThreshold: 0,
            outboxLimit: maxMessageBytes * 4
        ) { _ in Echo() }
    }

    private final class Echo: WebSocketHandler {
        func received(text: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
            if !socket.sendText(text) { socket.close(code: WebSocketCloseCode.policyViolation) }
        }

        func received(binary: UnsafeRawBufferPointer, _ socket: WebSocketConnection) {
            if !socket.sendBinary(binary) { socket.close(code: WebSocketCloseCode.policyViolation) }
        }

        func closed(_ how: WebSocketClosure, _ socket: WebSocketConnection) {}
    }
}
