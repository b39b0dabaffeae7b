import ConversationCore
import TestSupport
import Testing

@Suite struct TypingIndicatorTests {
    private var typing = TypingIndicator()

    @Test mutating func repeatedKeystrokesPassOnceInThreeSeconds() {
        #expect(typing.keystroke(at: .zero) == [.announce(isActive: true), .scheduleWake(at: .seconds(6))])
        #expect(typing.keystroke(at: .milliseconds(2999)) == [])
        #expect(typing.keystroke(at: .seconds(3)) == [.announce(isActive: true)])
        #expect(typing.keystroke(at: .seconds(5)) == [])
        #expect(typing.woke(at: .seconds(6)) == [.scheduleWake(at: .seconds(11))])
        #expect(typing.woke(at: .seconds(11)) == [.announce(isActive: false)])
        #expect(typing.woke(at: .seconds(12)) == [])
        #expect(typing.isForgettable(at: .seconds(12)))
    }

    @Test mutating func itEndsWhenTold() {
        _ = typing.keystroke(at: .zero)
        #expect(typing.stopped() == [.announce(isActive: false)])
        #expect(typing.stopped() == [])
        #expect(typing.woke(at: .seconds(6)) == [])
    }

    @Test mutating func startingAndStoppingDoesNotPassMoreOften() {
        _ = typing.keystroke(at: .zero)
        _ = typing.stopped()
        #expect(!typing.isForgettable(at: .seconds(1)))
        #expect(typing.keystroke(at: .seconds(1)) == [.scheduleWake(at: .seconds(3))])
        #expect(typing.keystroke(at: .seconds(2)) == [])
        #expect(typing.stopped() == [])
        #expect(typing.keystroke(at: .milliseconds(2500)) == [.scheduleWake(at: .seconds(3))])
        #expect(typing.woke(at: .milliseconds(2600)) == [.scheduleWake(at: .seconds(3))])
        #expect(typing.woke(at: .seconds(3)) == [.announce(isActive: true), .scheduleWake(at: .milliseconds(8500))])
        #expect(typing.woke(at: .milliseconds(8500)) == [.announce(isActive: false)])
    }

    @Test mutating func aLateWakeOfAHeldBackOneSaysNothing() {
        _ = typing.keystroke(at: .zero)
        _ = typing.stopped()
        _ = typing.keystroke(at: .seconds(1))
        #expect(typing.woke(at: .seconds(60)) == [])
        #expect(typing.isForgettable(at: .seconds(60)))
    }

    /// Any input: `active` at most once in 3 s, `true` and `false` in turns but for repeats, silent at the end.
    @Test(arguments: 1...50 as ClosedRange<UInt64>) func theRulesHoldForAnyInput(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var typing = TypingIndicator()
        var now: Duration = .zero
        var wake: Duration?
        var lastActive: Duration?
        var isActive = false
        var lastWord: Duration = .zero

        func note(_ actions: [TypingIndicator.Action], at time: Duration) {
            for action in actions {
                switch action {
                case .announce(true):
                    if let lastActive { #expect(time - lastActive >= .seconds(3)) }
                    lastActive = time
                    isActive = true
                case .announce(false):
                    #expect(isActive)
                    isActive = false
                case .scheduleWake(let at): wake = at
                }
            }
        }

        for step in 0..<400 {
            now += .milliseconds(Int.random(in: 0...(step % 50 == 0 ? 9000 : 900), using: &random))
            while let due = wake, due <= now {
                wake = nil
                note(typing.woke(at: due), at: due)
            }
            if Int.random(in: 0..<5, using: &random) == 0 {
                note(typing.stopped(), at: now)
                #expect(!isActive)
            } else {
                note(typing.keystroke(at: now), at: now)
                lastWord = now
            }
        }
        while let due = wake {
            wake = nil
            note(typing.woke(at: due), at: due)
            #expect(due <= lastWord + .seconds(6))
        }
        #expect(!isActive)
    }
}
