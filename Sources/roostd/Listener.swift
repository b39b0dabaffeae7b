import EdgeServer
import EventLoop
import Runtime

/// An edge server as a service.
final class Listener: Service {
    let name: String
    private let server: EdgeServer
    private let logger: Logger

    init(
        _ name: String, host: Setting<String>, port: Setting<Int>, _ configuration: Configuration, loops: [EventLoop],
        handler: any EdgeHandler, metrics: Metrics, logger: Logger
    ) {
        self.name = name
        self.logger = logger
        server = EdgeServer(
            configuration: EdgeConfiguration(host: configuration[host], port: configuration[port]), loops: loops, handler: handler
        )
        let edge = server.metrics
        let labels: Metrics.Labels = ["listener": name]
        metrics.gauge("roost_edge_connections", help: "Open connections.", labels: labels) {
            Double(edge.snapshot().connectionsOpen)
        }
        metrics.counter("roost_edge_requests_total", help: "HTTP requests.", labels: labels) { Double(edge.snapshot().requests) }
        metrics.counter("roost_edge_faults_total", help: "Requests refused by the server itself.", labels: labels) {
            Double(edge.snapshot().faults)
        }
        metrics.counter("roost_edge_timeouts_total", help: "Connections ended by a time-out.", labels: labels) {
            Double(edge.snapshot().timeouts)
        }
        metrics.counter("roost_edge_messages_received_total", help: "WebSocket messages received.", labels: labels) {
            Double(edge.snapshot().messagesReceived)
        }
        metrics.counter("roost_edge_messages_sent_total", help: "WebSocket messages sent.", labels: labels) {
            Double(edge.snapshot().messagesSent)
        }
        metrics.counter("roost_edge_sends_refused_total", help: "Messages refused by a full outbox.", labels: labels) {
            Double(edge.snapshot().sendsRefused)
        }
        metrics.counter("roost_edge_writes_total", help: "System calls that wrote to sockets.", labels: labels) {
            Double(edge.snapshot().writes)
        }
    }

    func start() async throws {
        let port = try await server.start()
        logger.info("Listening", [.service: name, .port: port])
    }

    /// Takes no new connections.
    func stopAccepting() async { await server.stopAccepting() }

    func stop() async { await server.stop(grace: .seconds(1)) }
}
