import EventLoop
import Glibc
import LoadCore

/// A line a second on standard error while the load runs, if that is a terminal. Confined to the run's loop.
final class Progress: @unchecked Sendable {
    private let run: PairsRun
    private var lastAcknowledged = 0
    private var lastDelivered = 0
    private var isOn = true

    static var isWanted: Bool { isatty(2) == 1 }

    init(_ run: PairsRun) { self.run = run }

    func start() { plan() }

    func stop() {
        guard isOn else { return }
        isOn = false
        Output.complain("\r\u{1B}[K")
    }

    private func plan() {
        run.loop.schedule(after: .seconds(1)) { [self] in
            guard isOn else { return }
            show()
            plan()
        }
    }

    private func show() {
        let tally = run.tally
        let seconds = (run.now() - run.startedAt) / 1_000_000_000
        let ready = run.clients.reduce(0) { $0 + ($1.isReady ? 1 : 0) }
        let waiting = tally.scheduled - tally.acknowledged - tally.failed
        let wrong = tally.duplicated + tally.outOfOrder + tally.reordered + tally.corrupted
        let p99 = Figures.short(Double(tally.deliveryLatency.value(at: 0.99)) / 1000)
        Output.complain(
            "\r\u{1B}[K\(seconds) s: \(ready) connected, acknowledged \(tally.acknowledged - lastAcknowledged)/s, "
                + "delivered \(tally.delivered - lastDelivered)/s, waiting \(waiting), errors \(tally.retryable), "
                + "reconnects \(tally.reconnects), wrong \(wrong), delivery p99 \(p99) ms")
        lastAcknowledged = tally.acknowledged
        lastDelivered = tally.delivered
    }
}
