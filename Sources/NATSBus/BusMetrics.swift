import Runtime

/// What the bus counts.
struct BusMetrics: Sendable {
    let published: Counter
    let publishedBytes: Counter
    let received: Counter
    let receivedBytes: Counter
    let failures: Counter
    let reconnects: Counter
    let slowConsumers: Counter

    init(_ metrics: Metrics) {
        published = metrics.counter("roost_bus_published_total", help: "Messages published.")
        publishedBytes = metrics.counter("roost_bus_published_bytes_total", help: "Bytes of payload published.")
        received = metrics.counter("roost_bus_received_total", help: "Messages received.")
        receivedBytes = metrics.counter("roost_bus_received_bytes_total", help: "Bytes of payload received.")
        failures = metrics.counter("roost_bus_publish_failures_total", help: "Messages refused: disconnected or too large.")
        reconnects = metrics.counter("roost_bus_reconnects_total", help: "Connections made again.")
        slowConsumers = metrics.counter(
            "roost_bus_slow_consumer_total", help: "Times a subscription's backlog began to be dropped.")
    }

    func observe(_ metrics: Metrics, isConnected: @escaping @Sendable () -> Bool, pending: @escaping @Sendable () -> Int) {
        metrics.gauge("roost_bus_connected", help: "1 while connected.") { isConnected() ? 1 : 0 }
        metrics.gauge("roost_bus_requests_pending", help: "Requests without an answer so far.") { Double(pending()) }
    }
}
