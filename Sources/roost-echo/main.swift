import EdgeServer
import EventLoop
import Glibc

// A WebSocket echo at any path, for conformance runs (cluster/autobahn) and measurements of the edge alone.
// Usage: roost-echo [--port P=0] [--loops N=1]                       prints the bound port, then serves until it is killed
//        roost-echo --load P [--sockets N=100] [--window W=1] [--bytes B=100] [--seconds S=5]         loads one that serves

struct EchoHandler: EdgeHandler {
    func admit(_ head: HTTPRequestHead) -> Admission {
        WebSocketHandshake.isUpgrade(head) ? .webSocket(EchoEndpoint.acceptance()) : .buffer(limit: 64 * 1024)
    }

    func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(HTTPResponse(status: 200, headers: [("Content-Type", "text/plain")], body: .bytes(request.body)))
    }

    func fault(_ status: Int, code: String, requestID: String) -> HTTPResponse { HTTPResponse(status: status) }
}

func option(_ name: String, default fallback: Int) -> Int {
    let arguments = CommandLine.arguments
    guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return fallback }
    return Int(arguments[index + 1]) ?? fallback
}

let target = option("--load", default: 0)
if target != 0 {
    try await EchoLoad(
        port: target, sockets: option("--sockets", default: 100), window: option("--window", default: 1),
        bytes: option("--bytes", default: 100), seconds: option("--seconds", default: 5)
    ).run()
    exit(0)
}

let configuration = EdgeConfiguration(port: option("--port", default: 0))
let loops = try (0..<max(1, option("--loops", default: 1))).map { try EventLoop(name: "echo-\($0)") }
for loop in loops { loop.start() }
let server = EdgeServer(configuration: configuration, loops: loops, handler: EchoHandler())
let port = try await server.start()
print(port)
fflush(nil)
try await Task.sleep(for: .seconds(1_000_000_000))
