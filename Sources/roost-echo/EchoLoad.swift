import EventLoop
import Glibc
import RoostClient
import Synchronization

/// Load for the echo: `sockets` WebSockets, each with `window` messages of `bytes` bytes in flight, for a time; a window of 0 leaves
/// them idle. Prints messages a second over all of them. For measurements of the edge alone; `roost-load` measures the chat.
struct EchoLoad {
    var port: Int
    var sockets: Int
    var window: Int
    var bytes: Int
    var seconds: Int

    func run() async throws {
        let loop = try EventLoop(name: "load")
        loop.start()
        let context = ClientLoop(loop)
        let tally = Tally()
        for index in 0..<sockets {
            var configuration = WebSocketClientConfiguration(host: "127.0.0.1", port: port, path: "/echo")
            configuration.sourceAddress = "127.0.0.\(2 + index / 10_000)"
            let settings = configuration
            loop.execute {
                WebSocketClient(context, settings, delegate: Echoer(tally, window: window, bytes: bytes)).connect()
            }
            // In small waves, or the listener's queue overflows.
            if index % 200 == 199 { while tally.opened < index - 200 { try await Task.sleep(for: .milliseconds(1)) } }
        }
        while tally.opened + tally.failed < sockets { try await Task.sleep(for: .milliseconds(10)) }
        let start = MonotonicTime.now
        let before = tally.echoes
        try await Task.sleep(for: .seconds(seconds))
        let elapsed = Double((MonotonicTime.now - start).nanoseconds) / 1e9
        let rate = Double(tally.echoes - before) / elapsed
        print("\(tally.opened) open, \(tally.failed) failed")
        print("\(Int(rate)) echoes a second of \(bytes) bytes, \(window) in flight each")
    }

    final class Tally: Sendable {
        private let openings = Atomic<Int>(0)
        private let failures = Atomic<Int>(0)
        private let returns = Atomic<Int>(0)
        var opened: Int { openings.load(ordering: .relaxed) }
        var failed: Int { failures.load(ordering: .relaxed) }
        var echoes: Int { returns.load(ordering: .relaxed) }
        func open() { openings.add(1, ordering: .relaxed) }
        func fail() { failures.add(1, ordering: .relaxed) }
        func echo() { returns.add(1, ordering: .relaxed) }
    }

    private final class Echoer: WebSocketClientDelegate {
        private let tally: Tally
        private let window: Int
        private let payload: [UInt8]

        init(_ tally: Tally, window: Int, bytes: Int) {
            self.tally = tally
            self.window = window
            payload = window == 0 ? [] : [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
        }

        func opened(_ socket: WebSocketClient, subprotocol: String?) {
            tally.open()
            for _ in 0..<window { socket.sendText(payload) }
        }

        func received(text: UnsafeRawBufferPointer, _ socket: WebSocketClient) {
            tally.echo()
            socket.sendText(payload)
        }

        func closed(_ how: WebSocketClientClosure, _ socket: WebSocketClient) { tally.fail() }
    }
}
