import ChatActors
import Ports
import RoostModel

/// Asks nodes over the bus about their awake actors, and answers for this one.
///
/// A question and an answer are lines of text, the first of which is the version. A later release may append words to a line.
public final class ActorInspection: Sendable {
    struct Question: Sendable {
        let kind: ShardKind?
        let byLoad: Bool
        let after: ActorPosition?
        let limit: Int
    }

    private static let version = "roost-actors 1"
    /// Whoever does not answer within this is left out.
    private static let patience: Duration = .seconds(1)

    private let bus: any MessageBus
    private let chat: ChatNode
    private let work: BackgroundWork

    /// - Parameter work: where questions are answered; one that is dropped is not answered.
    public init(bus: any MessageBus, chat: ChatNode, work: BackgroundWork) {
        self.bus = bus
        self.chat = chat
        self.work = work
    }

    static func subject(_ node: NodeIdentity) -> Subject {
        Subject("roost", "v1", "admin", node.name, node.incarnation.description)
    }

    // MARK: Answering

    /// Answers questions to this node while the subscription is kept.
    public func answer(as node: NodeIdentity) throws(BusError) -> any BusSubscription {
        try bus.subscribe(to: Self.subject(node)) { [self] message in
            guard let reply = message.reply else { return }
            let lines = String(decoding: message.payload, as: UTF8.self).split(separator: "\n").map(String.init)
            guard lines.count == 2, lines[0] == Self.version else { return }
            work.submit { [self] in
                let statuses = await answer(lines[1].split(separator: " ").map(String.init))
                reply(Array(([Self.version] + statuses.map(Self.line)).joined(separator: "\n").utf8))
            }
        }
    }

    private func answer(_ words: [String]) async -> [ActorStatus] {
        if words.count == 2, words[0] == "view", let version = Int64(words[1]) {
            await waitForView(version)
            return []
        }
        if words.count == 2, words[0] == "one", let address = ActorAddress(words[1]) {
            return await chat.actor(address).map { [$0] } ?? []
        }
        guard words.count >= 4, words[0] == "list", let limit = Int(words[3]), (1...1000).contains(limit) else { return [] }
        let after = words.count >= 6 ? Double(words[4]).flatMap { rate in ActorAddress(words[5]).map { (rate, $0) } } : nil
        return await chat.actors(
            of: ShardKind(rawValue: words[1]), byLoad: words[2] == "load", after: after, limit: limit)
    }

    /// Until this node's actors go by the view of `version`, or a later one.
    private func waitForView(_ version: Int64) async {
        for _ in 0..<80 where chat.viewVersion < version { try? await Task.sleep(for: .milliseconds(5)) }
    }

    // MARK: Asking

    /// Returns when the node goes by the view of `version`; soon in any case.
    func wait(for node: NodeIdentity, view version: Int64) async { _ = await ask(node, "view \(version)") }

    /// Nil where the node does not answer.
    func ask(_ node: NodeIdentity, _ question: Question) async -> [ActorStatus]? {
        var words = "list \(question.kind?.rawValue ?? "any") \(question.byLoad ? "load" : "id") \(question.limit)"
        if let after = question.after { words += " \(after.rate) \(after.actor)" }
        return await ask(node, words)
    }

    func ask(_ node: NodeIdentity, _ address: ActorAddress) async -> ActorStatus? {
        await ask(node, "one \(address)")?.first
    }

    private func ask(_ node: NodeIdentity, _ words: String) async -> [ActorStatus]? {
        let question = Array("\(Self.version)\n\(words)".utf8)
        guard let answer = try? await bus.request(question, to: Self.subject(node), timeout: Self.patience) else { return nil }
        let lines = String(decoding: answer, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.first == Self.version else { return nil }
        return lines.dropFirst().compactMap(Self.status)
    }

    // MARK: Lines

    static func line(_ status: ActorStatus) -> String {
        var words = [
            "\(status.actor)", status.node ?? "-", "\(status.epoch.value)", "\(status.since?.milliseconds ?? -1)",
            status.reason.rawValue,
        ]
        if let activity = status.activity {
            words += [
                "\(activity.messagesPerSecond)", "\(activity.mailboxDepth)", "\(activity.idleSeconds)",
                activity.routes.isEmpty ? "-" : activity.routes.joined(separator: ","),
            ]
        }
        return words.joined(separator: " ")
    }

    static func status(_ line: String) -> ActorStatus? {
        let words = line.split(separator: " ").map(String.init)
        guard words.count >= 5, let actor = ActorAddress(words[0]), let epoch = Int64(words[2]), let since = Int64(words[3]),
            let reason = PlacementReason(rawValue: words[4])
        else { return nil }
        var status = ActorStatus(
            actor: actor, node: words[1] == "-" ? nil : words[1], epoch: Epoch(epoch),
            since: since < 0 ? nil : Timestamp(milliseconds: since), reason: reason, activity: nil)
        guard words.count >= 9 else { return status }
        guard let rate = Double(words[5]), let depth = Int(words[6]), let idle = Double(words[7]) else { return nil }
        status.activity = ActorActivity(
            messagesPerSecond: rate, mailboxDepth: depth, idleSeconds: idle,
            routes: words[8] == "-" ? [] : words[8].split(separator: ",").map(String.init))
        return status
    }
}

/// Where a list of actors goes on.
struct ActorPosition: Hashable, Sendable {
    let rate: Double
    let actor: ActorAddress

    init(_ last: ActorStatus) {
        rate = last.activity?.messagesPerSecond ?? 0
        actor = last.actor
    }

    init(_ text: String, byLoad: Bool) throws(StoreError) {
        var reader = try CursorReader(text, .actors)
        guard try reader.integer(UInt8.self) == (byLoad ? 1 : 0) else { throw StoreError(.badCursor) }
        rate = Double(bitPattern: try reader.integer(UInt64.self))
        let kind = try reader.integer(UInt8.self)
        actor = ActorAddress(
            kind: kind == 0 ? .conversation : .presence, high: try reader.integer(), low: try reader.integer())
        try reader.end()
        guard rate.isFinite else { throw StoreError(.badCursor) }
    }

    func text(byLoad: Bool) -> String {
        var writer = CursorWriter(.actors)
        writer.write(byLoad ? 1 : 0 as UInt8)
        writer.write(rate.bitPattern)
        writer.write(actor.kind == .conversation ? 0 : 1 as UInt8)
        writer.write(actor.high)
        writer.write(actor.low)
        return writer.text
    }
}
