import ClusterOperations
import RoostModel
import RoostProtocol

// How what operators see is written; contract §8.

extension JSONWriter {
    /// With three decimals at most.
    mutating func number(_ value: Double) {
        guard value.isFinite else { return null() }
        let thousandths = Int64((min(max(value, -1e12), 1e12) * 1000).rounded())
        let (whole, rest) = (thousandths.magnitude / 1000, thousandths.magnitude % 1000)
        let sign = thousandths < 0 ? "-" : ""
        if rest == 0 { return raw("\(sign)\(whole)".utf8) }
        var decimals = String(rest + 1000).dropFirst()
        while decimals.last == "0" { decimals.removeLast() }
        raw("\(sign)\(whole).\(decimals)".utf8)
    }

    mutating func number(_ name: StaticString, _ value: Double?) {
        key(name)
        if let value { number(value) } else { null() }
    }

    private mutating func count(_ name: StaticString, _ value: Int?) {
        if let value { member(name, value) } else { nullMember(name) }
    }

    mutating func nodeStatus(_ node: NodeStatus) {
        let report = node.report
        object { writer in
            writer.member("name", node.name)
            writer.member("incarnation", node.incarnation)
            writer.member("state", node.state.rawValue)
            writer.member("version", node.version)
            writer.member("startedAt", node.startedAt)
            writer.member("url", node.url)
            writer.member("isLeader", node.isLeader)
            writer.count("sessions", report?.sessions)
            writer.key("actors")
            writer.object {
                $0.count("conversation", report?.conversationActors)
                $0.count("presence", report?.presenceActors)
            }
            writer.number("load", report?.total)
            writer.count("residentBytes", report?.residentBytes)
            writer.member("places", node.places)
            writer.number("messagesPerSecond", report?.rates.commitsPerSecond)
            writer.number("deliveriesPerSecond", report?.rates.deliveriesPerSecond)
            writer.number("commitMillisecondsP50", report?.rates.commitMillisecondsP50)
            writer.number("commitMillisecondsP99", report?.rates.commitMillisecondsP99)
        }
    }

    mutating func shard(_ shard: ShardStatus) {
        object { writer in
            writer.member("kind", shard.record.id.kind.rawValue)
            writer.member("shard", shard.record.id.number)
            writer.member("owner", shard.record.owner?.name)
            writer.key("epoch")
            writer.integer(shard.record.epoch.value)
            writer.member("since", shard.record.since)
            writer.member("reason", shard.record.reason.rawValue)
            writer.member("target", shard.record.target?.name)
            writer.number("load", shard.load)
        }
    }

    mutating func pin(_ pin: PinRecord) {
        object { writer in
            writer.member("kind", pin.actor.kind.rawValue)
            writer.member("id", pin.actor.conversationID)
            writer.member("wanted", pin.node)
            writer.member("owner", pin.owner?.name)
            writer.member("isMoving", pin.isMoving)
            writer.member("since", pin.since)
        }
    }

    mutating func actor(_ status: ActorStatus) {
        object { writer in
            writer.member("kind", status.actor.kind.rawValue)
            writer.member("id", status.actor.conversationID)
            writer.member("active", status.activity != nil)
            writer.member("node", status.node)
            writer.member("shard", status.actor.shard.number)
            writer.key("epoch")
            writer.integer(status.epoch.value)
            writer.member("since", status.since)
            writer.member("reason", status.reason.rawValue)
            writer.number("messagesPerSecond", status.activity?.messagesPerSecond ?? 0)
            writer.member("mailboxDepth", status.activity?.mailboxDepth ?? 0)
            writer.number("idleSeconds", status.activity?.idleSeconds)
            writer.key("routes")
            writer.array(status.activity?.routes ?? []) { $0.string($1) }
        }
    }

    mutating func operation(_ operation: OperationRecord) {
        let progress = operation.progress
        object { writer in
            writer.member("id", operation.id)
            writer.member("kind", operation.kind.rawValue)
            writer.member("state", operation.state.rawValue)
            writer.member("reason", operation.reason)
            writer.member("node", operation.node)
            writer.member("actor", operation.actor.map { "\($0)" })
            writer.member("startedAt", operation.startedAt)
            writer.member("endedAt", operation.endedAt)
            writer.member("startedBy", operation.startedBy)
            writer.member("movesPlanned", progress.movesPlanned)
            writer.member("movesDone", progress.movesDone)
            writer.member("movesFailed", progress.movesFailed)
            writer.number("longestPauseMilliseconds", progress.longestPauseMilliseconds)
            writer.key("blockedBy")
            writer.array(progress.blockedBy) { $0.string($1) }
        }
    }

    mutating func plan(_ plan: RebalancePlan) {
        object { writer in
            writer.member("id", plan.id)
            writer.key("viewVersion")
            writer.integer(plan.viewVersion)
            writer.key("moves")
            writer.array(plan.moves) { $0.plannedMove($1) }
            writer.key("before")
            writer.array(plan.before) { $0.nodeLoad($1) }
            writer.key("after")
            writer.array(plan.after) { $0.nodeLoad($1) }
        }
    }

    private mutating func plannedMove(_ move: PlannedMove) {
        object { writer in
            switch move.place {
            case .shard(let shard):
                writer.member("kind", shard.kind.rawValue)
                writer.member("shard", shard.number)
            case .actor(let actor):
                writer.member("kind", actor.kind.rawValue)
                writer.member("id", actor.conversationID)
            }
            writer.member("from", move.from)
            writer.member("to", move.to)
            writer.number("load", move.load)
            writer.number("expectedPauseMilliseconds", move.expectedPauseMilliseconds)
        }
    }

    private mutating func nodeLoad(_ load: NodeLoad) {
        object { writer in
            writer.member("node", load.node)
            writer.number("load", load.load)
        }
    }
}
