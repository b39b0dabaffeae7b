import ConversationCore
import RoostModel
import TestSupport
import Testing

private func at(_ seconds: Double) -> Moment {
    let milliseconds = Int((seconds * 1000).rounded())
    return Moment(monotonic: .milliseconds(milliseconds), wall: noon + .milliseconds(milliseconds))
}

private let desktop = SessionID(high: 2, low: 1)
private let desktopAgain = SessionID(high: 2, low: 2)
private let phone = SessionID(high: 2, low: 3)
private let desktopDevice = DeviceID(high: 3, low: 1)
private let phoneDevice = DeviceID(high: 3, low: 2)
private let nodeA = IncarnationID(high: 4, low: 1)
private let nodeB = IncarnationID(high: 4, low: 2)

private func news(_ state: PresenceState, _ counter: Int64, seen: Double? = nil, epoch: Int64 = 1) -> PresenceMachine.Action {
    .publish(
        .init(
            state: state, lastSeenAt: seen.map { at($0).wall }, version: PresenceVersion(epoch: Epoch(epoch), counter: counter)))
}

private func wake(_ seconds: Double) -> PresenceMachine.Action { .scheduleWake(at: at(seconds).monotonic) }

@Suite struct PresenceMachineTests {
    private var machine = PresenceMachine(epoch: Epoch(1))

    private mutating func attachDesktop(_ seconds: Double, foreground: Bool = true) -> [PresenceMachine.Action] {
        machine.attached(desktop, device: desktopDevice, incarnation: nodeA, isForeground: foreground, at: at(seconds))
    }

    private mutating func attachPhone(_ seconds: Double, foreground: Bool = false) -> [PresenceMachine.Action] {
        machine.attached(phone, device: phoneDevice, incarnation: nodeB, isForeground: foreground, at: at(seconds))
    }

    @Test mutating func aCloseFrameIsOfflineAtOnce() {
        #expect(attachDesktop(0) == [news(.online, 1)])
        #expect(machine.ended(desktop, at: at(5)) == [.recordLastSeen(at(5).wall), news(.offline, 2, seen: 5)])
        #expect(machine.isQuiet)
        #expect(machine.ended(desktop, at: at(6)) == [])
        #expect(machine.broken(desktop, at: at(6)) == [])
    }

    @Test mutating func foregroundAndBackground() {
        #expect(attachDesktop(0, foreground: false) == [news(.away, 1)])
        #expect(machine.changed(desktop, isForeground: true, at: at(1)) == [news(.online, 2)])
        #expect(machine.changed(desktop, isForeground: true, at: at(2)) == [])
        #expect(machine.changed(desktop, isForeground: false, at: at(3)) == [news(.away, 3)])
        #expect(machine.changed(phone, isForeground: true, at: at(3)) == [])
    }

    @Test mutating func theLastOfSeveralDevicesDecides() {
        _ = attachDesktop(0)
        #expect(attachPhone(1) == [])
        var other = self
        #expect(machine.ended(desktop, at: at(2)) == [news(.away, 2)])
        #expect(machine.ended(phone, at: at(3)) == [.recordLastSeen(at(3).wall), news(.offline, 3, seen: 3)])
        #expect(other.machine.ended(phone, at: at(2)) == [])
        #expect(other.machine.ended(desktop, at: at(3)).last == news(.offline, 2, seen: 3))
    }

    @Test mutating func aReturnWithinTenSecondsShowsNothing() {
        _ = attachDesktop(0)
        #expect(machine.broken(desktop, at: at(10)) == [wake(20)])
        #expect(machine.news.state == .online)
        #expect(machine.attached(desktopAgain, device: desktopDevice, incarnation: nodeB, isForeground: true, at: at(19.9)) == [])
        #expect(machine.woke(at: at(20)) == [])
        #expect(machine.sessionCount == 1)
        #expect(machine.news.state == .online)
    }

    @Test mutating func aBrokenLineIsOfflineAfterTenSeconds() {
        _ = attachDesktop(0)
        #expect(machine.broken(desktop, at: at(10)) == [wake(20)])
        #expect(machine.broken(desktop, at: at(15)) == [])
        #expect(machine.woke(at: at(20)) == [.recordLastSeen(at(10).wall), news(.offline, 2, seen: 10)])
    }

    @Test mutating func aReturnToTheBackgroundIsAwayAtOnce() {
        _ = attachDesktop(0)
        _ = machine.broken(desktop, at: at(10))
        let actions = machine.attached(desktopAgain, device: desktopDevice, incarnation: nodeA, isForeground: false, at: at(12))
        #expect(actions == [news(.away, 2)])
    }

    @Test mutating func aLineFoundBrokenAfterTheReturnDoesNotLinger() {
        _ = attachDesktop(0)
        _ = machine.attached(desktopAgain, device: desktopDevice, incarnation: nodeB, isForeground: false, at: at(5))
        #expect(machine.broken(desktop, at: at(6)) == [news(.away, 2)])
        #expect(machine.sessionCount == 1)
    }

    @Test mutating func aLogoutWhileLingeringEndsIt() {
        _ = attachDesktop(0)
        _ = machine.broken(desktop, at: at(10))
        #expect(machine.ended(desktop, at: at(12)).last == news(.offline, 2, seen: 12))
    }

    @Test mutating func aNodesDeathLingersForItsSessionsOnly() {
        _ = attachDesktop(0)
        _ = attachPhone(0)
        #expect(machine.nodeDied(nodeA, at: at(10)) == [wake(18)])
        #expect(machine.news.state == .online)
        #expect(machine.woke(at: at(18)) == [news(.away, 2)])
        #expect(machine.nodeDied(nodeA, at: at(19)) == [])
    }

    @Test mutating func deathDoesNotProlongALinger() {
        _ = attachDesktop(0)
        _ = machine.broken(desktop, at: at(10))
        #expect(machine.nodeDied(nodeA, at: at(11)) == [wake(19)])
        #expect(machine.woke(at: at(19)).last == news(.offline, 2, seen: 10))
    }

    @Test mutating func aReturnAfterANodesDeathShowsNothing() {
        _ = attachDesktop(0)
        _ = machine.nodeDied(nodeA, at: at(10))
        #expect(machine.attached(desktopAgain, device: desktopDevice, incarnation: nodeB, isForeground: true, at: at(14)) == [])
        #expect(machine.woke(at: at(18)) == [])
    }

    // MARK: A fresh owner

    @Test mutating func aFreshOwnerWaitsForSessionsToAttachAgain() {
        machine = PresenceMachine(epoch: Epoch(2), recoveringFrom: .online, at: at(100))
        #expect(machine.news.state == .online)
        #expect(machine.woke(at: at(100)) == [wake(103)])
        #expect(attachPhone(101) == [])
        #expect(attachDesktop(102) == [])
        #expect(machine.woke(at: at(103)) == [])
        #expect(machine.news.state == .online)
    }

    @Test mutating func whatDoesNotComeBackIsGoneAtTheEnd() {
        machine = PresenceMachine(epoch: Epoch(2), recoveringFrom: .online, at: at(100))
        _ = machine.woke(at: at(100))
        #expect(attachPhone(101) == [])
        #expect(machine.woke(at: at(103)) == [news(.away, 1, epoch: 2)])
        machine = PresenceMachine(epoch: Epoch(3), recoveringFrom: .away, at: at(200))
        _ = machine.woke(at: at(200))
        #expect(machine.woke(at: at(203)) == [.recordLastSeen(at(203).wall), news(.offline, 1, seen: 203, epoch: 3)])
    }

    @Test mutating func withoutAGuessTheOutcomeIsPublished() {
        machine = PresenceMachine(epoch: Epoch(2), recoveringFrom: nil, lastSeenAt: at(7).wall, at: at(100))
        #expect(machine.woke(at: at(100)) == [wake(103)])
        #expect(attachPhone(101) == [])
        #expect(machine.ended(phone, at: at(102)) == [])
        #expect(machine.woke(at: at(103)) == [.recordLastSeen(at(102).wall), news(.offline, 1, seen: 102, epoch: 2)])
        machine = PresenceMachine(epoch: Epoch(3), recoveringFrom: nil, at: at(200))
        #expect(attachDesktop(201) == [news(.online, 1, epoch: 3)])
    }

    @Test mutating func aGuessOfOfflineNeedsNoWaiting() {
        machine = PresenceMachine(epoch: Epoch(2), recoveringFrom: .offline, at: at(100))
        #expect(machine.woke(at: at(100)) == [])
        #expect(machine.isQuiet)
        #expect(attachPhone(101) == [news(.away, 1, epoch: 2)])
    }

    @Test func newsOfALaterOwnerIsNewer() {
        #expect(PresenceVersion(epoch: Epoch(1), counter: 900) < PresenceVersion(epoch: Epoch(2), counter: 1))
        #expect(PresenceVersion(epoch: Epoch(2), counter: 1) < PresenceVersion(epoch: Epoch(2), counter: 2))
    }

    @Test mutating func telledTwiceIsOnce() {
        _ = attachDesktop(0)
        #expect(attachDesktop(1) == [])
        #expect(machine.sessionCount == 1)
    }

    /// Any input with one timer that fires: versions rise, no news repeats, no session that is back within 10 s is missed, and
    /// when all is quiet the state is what the sessions say.
    @Test(arguments: 1...50 as ClosedRange<UInt64>) func theRulesHoldForAnyInput(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = PresenceMachine(epoch: Epoch(1))
        var now = 0.0
        var timer: Double?
        var last = PresenceMachine.News(state: .offline, lastSeenAt: nil, version: PresenceVersion(epoch: Epoch(1), counter: 0))
        var live: [SessionID: Bool] = [:]
        var nextID: UInt64 = 0

        func note(_ actions: [PresenceMachine.Action]) {
            for action in actions {
                switch action {
                case .publish(let news):
                    #expect(news.version > last.version)
                    #expect(news.state != last.state)
                    #expect((news.lastSeenAt != nil) == (news.state == .offline))
                    last = news
                case .scheduleWake(let time): timer = Double(time / .milliseconds(1)) / 1000
                case .recordLastSeen(let time): #expect(time <= at(now).wall)
                }
            }
        }

        func runTimers(until end: Double) {
            while let due = timer, due <= end {
                timer = nil
                now = due
                note(machine.woke(at: at(due)))
            }
            now = end
        }

        for _ in 0..<300 {
            runTimers(until: now + Double(Int.random(in: 0...4000, using: &random)) / 1000)
            let device = DeviceID(high: 3, low: UInt64.random(in: 1...3, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                nextID += 1
                let id = SessionID(high: 2, low: nextID)
                let foreground = Bool.random(using: &random)
                live[id] = foreground
                note(machine.attached(id, device: device, incarnation: nodeA, isForeground: foreground, at: at(now)))
            case 2:
                guard let id = live.keys.sorted().randomElement(using: &random) else { continue }
                live[id]!.toggle()
                note(machine.changed(id, isForeground: live[id]!, at: at(now)))
            case 3:
                guard let id = live.keys.sorted().randomElement(using: &random) else { continue }
                live[id] = nil
                note(machine.ended(id, at: at(now)))
            case 4:
                guard let id = live.keys.sorted().randomElement(using: &random) else { continue }
                live[id] = nil
                note(machine.broken(id, at: at(now)))
            default:
                if Int.random(in: 0..<8, using: &random) == 0 {
                    live = [:]
                    note(machine.nodeDied(nodeA, at: at(now)))
                }
            }
            if live.values.contains(true) { #expect(last.state == .online) }
            if !live.isEmpty { #expect(last.state != .offline) }
        }
        runTimers(until: now + 11)
        #expect(timer == nil || timer! > now)
        #expect(last.state == (live.isEmpty ? .offline : live.values.contains(true) ? .online : .away))
    }
}
