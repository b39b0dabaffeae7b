import EventLoop
import LoadCore
import RoostClient
import RoostModel
import Runtime

/// One run of `pairs` or `single`, from making the accounts to the report.
struct PairsCommand: Sendable {
    let options: LoadOptions
    let surroundings: Surroundings
    let context: ClientLoop
    let stop: StopSignal
    /// Prints the line that tells a test to begin its mischief.
    var announces = true

    func run() async throws -> RunReport {
        let api = NodeAPI(surroundings.targets, context: context, connections: options.accountConcurrency)
        let runName = "r" + String(UInt32.random(in: .min ... .max), radix: 16)
        let text = LoadText(run: runName, bytes: options.textBytes, seed: options.seed)
        let accounts = Accounts(api: api, atOnce: options.accountConcurrency)
        let chats = try await accounts.makeChats(options.clients / 2, named: "Load \(runName)")
        let run = PairsRun(options, text: text, api: api, context: context, chats: chats)
        do {
            try await connect(run)
            let report = try await load(run)
            await api.close()
            return report
        } catch {
            await run.onLoop { run.end() }
            await api.close()
            throw error
        }
    }

    private func connect(_ run: PairsRun) async throws {
        let isDone = Locked(false)
        run.loop.execute { run.connect { isDone.withLock { $0 = true } } }
        let deadline = MonotonicTime.now + .seconds(30) + .milliseconds(options.clients * 10)
        while !isDone.withLock({ $0 }) {
            guard MonotonicTime.now < deadline else { throw LoadFault("not all clients could connect") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func load(_ run: PairsRun) async throws -> RunReport {
        let watch = ProcessWatch(surroundings)
        let fault = await run.onLoop { () -> String? in
            do { try run.start() } catch { return "\(error)" }
            return nil
        }
        if let fault { throw LoadFault(fault) }
        if announces { announce(run) }
        let progress = options.isQuiet || !Progress.isWanted ? nil : Progress(run)
        if let progress { await run.onLoop { progress.start() } }
        await stop.wait(seconds: options.warmUpSeconds)
        let first = watch.sample()
        let before = await run.onLoop { () -> Mark in
            if options.warmUpSeconds > 0 { run.tally.forgetLatencies() }
            return Mark(run)
        }
        await stop.wait(seconds: options.untilStopped ? nil : options.seconds)
        let after = await run.onLoop { () -> Mark in
            run.stopSending()
            return Mark(run)
        }
        let last = watch.sample()
        await settle(run)
        if let progress { await run.onLoop { progress.stop() } }
        await run.compareWithServer()
        return await run.onLoop {
            run.end()
            var report = self.report(run)
            report.measuredSeconds = Double((after.at - before.at).nanoseconds) / 1e9
            report.acknowledgedThen = after.acknowledged - before.acknowledged
            report.deliveriesThen = after.deliveries - before.deliveries
            report.cpu = watch.used(from: first, to: last)
            report.foreignCPU = watch.foreign(from: first, to: last)
            return report
        }
    }

    /// The counts at one moment.
    private struct Mark: Sendable {
        let at = MonotonicTime.now
        let acknowledged: Int
        let deliveries: Int

        init(_ run: PairsRun) {
            acknowledged = run.tally.acknowledged
            deliveries = run.tally.deliveries
        }
    }

    private func settle(_ run: PairsRun) async {
        let deadline = MonotonicTime.now + .seconds(options.settleSeconds)
        while MonotonicTime.now < deadline {
            if await run.onLoop({ run.isSettled }) { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func announce(_ run: PairsRun) {
        let line = JSONText.object([
            ("event", .string("started")), ("run", .string(run.text.run)), ("clients", .int(run.clients.count)),
            ("conversations", .int(run.chats.count)), ("nodes", .array(run.api.targets.map { .string($0.name) })),
            ("at", .string(Timestamp.now.description)),
        ])
        Output.print(line.text + "\n")
    }

    private func report(_ run: PairsRun) -> RunReport {
        var report = RunReport()
        report.command = options.command.rawValue
        report.run = run.text.run
        report.clients = run.clients.count
        report.conversations = run.chats.count
        report.nodes = run.api.targets.map(\.name)
        report.pacing = options.pacing
        report.textBytes = options.textBytes
        report.tally = run.tally
        report.gaps = run.ledgers.map(\.gaps)
        report.startedAt = run.startedAt
        return report
    }
}
