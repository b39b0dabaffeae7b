import Runtime
import Testing

@Suite struct MetricsTests {
    @Test func theTextIsPrometheus() {
        let metrics = Metrics()
        let sent = metrics.counter(
            "roost_sent_total", help: "Sent.\nTwo lines \\ here.", labels: ["lane": "0", "node": "a\"b\\c\nd"])
        sent.increment()
        sent.increment(by: 4)
        metrics.counter("roost_sent_total", help: "ignored", labels: ["lane": "1", "node": "x"]).increment()
        metrics.gauge("roost_sessions", help: "Sessions.").set(3)
        metrics.gauge("roost_ratio", help: "A ratio.") { 0.25 }
        let waits = metrics.histogram(
            "roost_wait_seconds", help: "Waits.", buckets: .durations([.milliseconds(1), .seconds(1)]), labels: ["lane": "0"])
        waits.observe(.microseconds(500))
        waits.observe(.milliseconds(1))
        waits.observe(.milliseconds(1_500))
        #expect(
            metrics.render() == #"""
                # HELP roost_ratio A ratio.
                # TYPE roost_ratio gauge
                roost_ratio 0.25
                # HELP roost_sent_total Sent.\nTwo lines \\ here.
                # TYPE roost_sent_total counter
                roost_sent_total{lane="0",node="a\"b\\c\nd"} 5
                roost_sent_total{lane="1",node="x"} 1
                # HELP roost_sessions Sessions.
                # TYPE roost_sessions gauge
                roost_sessions 3
                # HELP roost_wait_seconds Waits.
                # TYPE roost_wait_seconds histogram
                roost_wait_seconds_bucket{lane="0",le="0.001"} 2
                roost_wait_seconds_bucket{lane="0",le="1"} 2
                roost_wait_seconds_bucket{lane="0",le="+Inf"} 3
                roost_wait_seconds_sum{lane="0"} 1.5015
                roost_wait_seconds_count{lane="0"} 3

                """#)
    }

    @Test func theSameNameAndLabelsAreTheSameInstrument() {
        let metrics = Metrics()
        metrics.counter("a_total", help: "", labels: ["x": "1"]).increment()
        metrics.counter("a_total", help: "", labels: ["x": "1"]).increment()
        #expect(metrics.counter("a_total", help: "", labels: ["x": "1"]).value == 2)
        metrics.gauge("b", help: "") { 1 }
        metrics.gauge("b", help: "") { 2 }
        #expect(metrics.render().contains("b 2\n"))
    }

    @Test func incrementsOfManyThreadsAreNotLost() async {
        let metrics = Metrics()
        let counter = metrics.counter("a_total", help: "")
        let histogram = metrics.histogram("b", help: "", buckets: .batch)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<10_000 {
                        counter.increment()
                        histogram.observe(number % 5_000)
                    }
                }
            }
        }
        #expect(counter.value == 80_000)
        #expect(histogram.count == 80_000)
    }

    @Test func numbersThatAreNoneHaveNames() {
        let metrics = Metrics()
        metrics.gauge("a", help: "") { .nan }
        metrics.gauge("b", help: "") { -.infinity }
        metrics.gauge("c", help: "") { 1e300 }
        let text = metrics.render()
        #expect(text.contains("a NaN\n") && text.contains("b -Inf\n") && text.contains("c 1e+300\n"))
    }

    @Test func theProcessIsMeasured() {
        #expect(ProcessMetrics.residentBytes() > 1 << 20)
        #expect(ProcessMetrics.cpuSeconds() > 0)
        #expect(ProcessMetrics.openDescriptors() >= 3)
        #expect(ProcessMetrics.threads() >= 1)
        let metrics = Metrics()
        ProcessMetrics.register(in: metrics)
        #expect(metrics.render().contains("process_resident_memory_bytes "))
    }
}
