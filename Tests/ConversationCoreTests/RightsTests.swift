import RoostModel
import Testing

@testable import ConversationCore

/// The table of rights, spelled out: every action, kind, role and state.
@Suite struct RightsTests {
    private struct Row {
        let action: Rights.Action
        /// In the order of ``columns``; nil where it is allowed.
        let codes: [ErrorCode?]

        init(_ action: Rights.Action, _ codes: ErrorCode?...) {
            self.action = action
            self.codes = codes
        }
    }

    private static let columns: [Rights.Standing] = [
        .init(kind: .direct, role: .member), .init(kind: .direct, role: .member, isReadOnly: true),
        .init(kind: .direct, role: .member, isBlocked: true), .init(kind: .direct, role: nil),
        .init(kind: .group, role: .admin), .init(kind: .group, role: .member), .init(kind: .group, role: nil),
        .init(kind: .channel, role: .admin), .init(kind: .channel, role: .member), .init(kind: .channel, role: nil),
    ]

    //            direct: plain        read-only    blocked       none        | group: admin  member      none        | channel: admin  member      none
    private static let table: [Row] = [
        Row(.see, nil, nil, nil, .notFound, nil, nil, .notFound, nil, nil, nil),
        Row(.read, nil, nil, nil, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.send, nil, .readOnly, .blocked, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.react, nil, .readOnly, .blocked, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.editOwn, nil, .readOnly, .blocked, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(
            .editAnothers, .forbidden, .forbidden, .forbidden, .notFound, .forbidden, .forbidden, .notFound, .forbidden,
            .forbidden, .notMember),
        Row(.deleteOwn, nil, nil, nil, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(
            .deleteAnothers, .forbidden, .forbidden, .forbidden, .notFound, nil, .forbidden, .notFound, nil, .forbidden,
            .notMember),
        Row(.type, nil, .readOnly, nil, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.changeSettings, nil, nil, nil, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.join, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, nil, .notFound, nil, nil, nil),
        Row(.leave, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, nil, .notFound, nil, nil, .notMember),
        Row(.addMembers, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, .forbidden, .notFound, nil, .forbidden, .notMember),
        Row(
            .removeMember, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, .forbidden, .notFound, nil, .forbidden, .notMember),
        Row(.setRole, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, .forbidden, .notFound, nil, .forbidden, .notMember),
        Row(.update, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, .forbidden, .notFound, nil, .forbidden, .notMember),
        Row(.delete, .notAGroup, .notAGroup, .notAGroup, .notFound, nil, .forbidden, .notFound, nil, .forbidden, .notMember),
    ]

    @Test func everyActionInEveryState() {
        #expect(Self.table.map(\.action) == Rights.Action.allCases)
        for row in Self.table {
            for (standing, code) in zip(Self.columns, row.codes) {
                #expect(Rights.refusal(of: row.action, for: standing) == code, "\(row.action) \(standing)")
            }
            #expect(row.codes.count == Self.columns.count)
        }
    }

    /// Read-only comes before blocked; neither shows to those who are not members, nor lifts a role.
    @Test func statesTogether() {
        for action in Rights.Action.allCases {
            for kind in ConversationKind.allCases {
                for role in MemberRole.allCases.map(Optional.some) + [nil] {
                    let plain = Rights.refusal(of: action, for: .init(kind: kind, role: role))
                    for (isReadOnly, isBlocked) in [(true, false), (false, true), (true, true)] {
                        let code = Rights.refusal(
                            of: action, for: .init(kind: kind, role: role, isReadOnly: isReadOnly, isBlocked: isBlocked))
                        let isSaying = [.send, .react, .editOwn].contains(action) && role != nil
                        let isTyping = action == .type && role != nil
                        let expected: ErrorCode? =
                            isSaying ? (isReadOnly ? .readOnly : .blocked) : isTyping && isReadOnly ? .readOnly : plain
                        #expect(code == expected, "\(action) \(kind) \(String(describing: role)) \(isReadOnly) \(isBlocked)")
                    }
                }
            }
        }
    }

    /// The machine goes by the table.
    @Test func whatIsRefusedInTheMachine() throws {
        for (isReadOnly, isBlocked, code) in [(true, false, ErrorCode.readOnly), (false, true, .blocked)] {
            let snapshot = ConversationSnapshot(
                id: conversation, kind: .direct, head: Seq(1), members: [member(alice), member(bob)], isActive: false,
                isReadOnly: isReadOnly, isBlocked: isBlocked)
            var state = ConversationState(snapshot)
            let commands = [
                send(1, "a"), act(2, .react(Seq(1), emoji: "👍")), act(3, .edit(Seq(1), text: "x")), act(4, .hide(Seq(1))),
                act(5, .deleteForEveryone(Seq(1)), by: bob), read(6, 1),
            ]
            guard case .lookUp(let lookup) = state.decide(commands, now: noon).next else {
                Issue.record("nothing is looked up")
                continue
            }
            // What would be refused now may have been sent before.
            #expect(lookup == Lookup(keys: [key("a")], seqs: [Seq(1)]))
            let step = state.lookedUp(.targets(MessageTarget(message: message(1, "old"))), now: noon)
            #expect(
                step.replies == [
                    failure(1, code), failure(2, code), failure(3, code),
                ])
            #expect(step.commit?.changes?.hidden.count == 1 && step.commit?.positions.count == 1)
            #expect(state.committed().replies == [done(4), failure(5, .forbidden), position(6, read: 1, delivered: 1)])
            if isReadOnly {
                #expect(throws: RoostError(.readOnly)) { try state.typingRecipients(of: alice) }
            } else {
                // Typing is taken, and told to nobody.
                #expect(try state.typingRecipients(of: alice) == [])
            }
        }
        let state = ConversationState(
            ConversationSnapshot(
                id: conversation, kind: .channel, head: Seq(1), members: [member(alice)], isActive: false, isReadOnly: false))
        #expect(throws: RoostError(.notMember)) { try state.typingRecipients(of: bob) }
    }
}
