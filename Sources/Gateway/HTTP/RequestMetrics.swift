import Runtime

/// Counts and durations of requests by route and class of status. All series exist from the start; their number is the table's.
struct RequestMetrics: Sendable {
    private struct Series: Sendable {
        /// By the status's first digit, less one.
        let byClass: [Counter]
        let duration: Histogram
    }

    private let routes: [Series]
    private let unmatched: Series

    /// - Parameter listener: `public` or `admin`.
    init(_ table: [Route], listener: String, metrics: Metrics) {
        func series(_ method: String, _ route: String) -> Series {
            let classes = (1...5).map { digit in
                metrics.counter(
                    "roost_http_requests_total", help: "Requests answered.",
                    labels: ["listener": listener, "method": method, "route": route, "status": "\(digit)xx"])
            }
            let duration = metrics.histogram(
                "roost_http_request_duration_seconds", help: "From the whole request to the answer.",
                buckets: .durations([1, 5, 25, 100, 500, 2_500, 10_000].map { Duration.milliseconds($0) }),
                labels: ["listener": listener, "method": method, "route": route])
            return Series(byClass: classes, duration: duration)
        }
        routes = table.map { series($0.method.rawValue, $0.template.text) }
        unmatched = series("any", "none")
    }

    /// - Parameter route: its place in the table; nil where the path or method is unknown.
    func record(route: Int?, status: Int, duration: Duration) {
        let series = route.map { routes[$0] } ?? unmatched
        let digit = status / 100
        if (1...5).contains(digit) { series.byClass[digit - 1].increment() }
        series.duration.observe(duration)
    }
}
