/// The commands of one sender that wait for their answers, in order per address.
///
/// A command is sent when submitted, unless its address is being repaired: then it is held, and ``resend(_:)`` gives everything
/// unanswered, in order, to be sent to the new owner. So the order of one address's commands survives any number of retries.
///
/// An owner that has just been told of by the table may not have heard of it itself: it would refuse one command and take the next. So
/// the first command to an owner that nothing is known of goes alone, as a *probe*; the rest follows when it is answered.
///
/// Submitting costs one dictionary lookup, answering none: ids hold the place of their command. Empty lines are kept for the
/// next command of their address and swept when they outnumber the busy ones. Times are nanoseconds of any monotonic clock.
public struct CommandQueue<Address: Hashable, Payload> {
    public struct Limits: Sendable, Hashable {
        public var perAddress: Int
        /// At most 1,048,576.
        public var total: Int

        public init(perAddress: Int = 1024, total: Int = 65_536) {
            precondition(perAddress > 0 && total > 0 && total <= 1 << 20, "limits out of range")
            self.perAddress = perAddress
            self.total = total
        }
    }

    public enum Submission: Hashable, Sendable {
        /// Under this identity, which it keeps over all its sendings; rises with each submit.
        case send(id: UInt64)
        /// Kept until ``CommandQueue/resend(_:probing:)``, or until the probe is answered.
        case held(id: UInt64)
        /// A bound is reached; the caller answers `unavailable`.
        case full
    }

    public struct Sending {
        public let id: UInt64
        public let payload: Payload
    }

    public struct Expired {
        public let id: UInt64
        public let address: Address
        public let payload: Payload
    }

    fileprivate struct Slot {
        var id: UInt64 = 0
        var payload: Payload?
        var deadline: Int64 = 0
        var line: Int32 = -1
        var previous: Int32 = -1
        /// Within the line; the next free slot while free.
        var next: Int32 = -1
    }

    fileprivate struct Line {
        var address: Address?
        var first: Int32 = -1
        var last: Int32 = -1
        var count: Int32 = 0
        var isRepairing = false
        /// The command that goes alone; 0 for none.
        var probe: UInt64 = 0
    }

    private static var slotBits: UInt64 { 20 }

    public let limits: Limits
    /// Unanswered commands, sent or held.
    public private(set) var count = 0
    private var slots: [Slot] = []
    private var freeSlot: Int32 = -1
    private var lines: [Line] = []
    private var freeLines: [Int32] = []
    private var lineOf: [Address: Int32] = [:]
    private var emptyLines = 0
    private var nextSequence: UInt64 = 1
    /// Commands that a probe no longer holds back.
    private var released: [Sending] = []
    /// No command's deadline is before this.
    private var earliestDeadline = Int64.max

    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    // MARK: Commands

    /// Takes a command. After `.send` the caller sends it at once, before anything else to the same address.
    ///
    /// - Parameter probing: whether the owner has yet to show that it is one: then commands behind the first wait for its answer.
    public mutating func submit(
        _ payload: Payload, to address: Address, deadline: Int64, probing: Bool = false
    ) -> Submission {
        guard count < limits.total else { return .full }
        let line = findLine(address)
        let index = Int(line)
        guard lines[index].count < limits.perAddress else { return .full }
        let id = append(payload, deadline: deadline, to: line)
        if lines[index].isRepairing || lines[index].probe != 0 { return .held(id: id) }
        if probing, lines[index].count == 1 { lines[index].probe = id }
        return .send(id: id)
    }

    /// What may be sent now that a probe was answered, in order; the caller sends it before anything submitted later.
    public mutating func takeReleased() -> [Sending] {
        if released.isEmpty { return [] }
        defer { released = [] }
        // What has expired together with the probe is not sent any more.
        return released.filter { slot(of: $0.id) != nil }
    }

    /// Ends a command, however it ended. Nil where it has ended already: a late or second answer.
    @discardableResult
    public mutating func answered(_ id: UInt64) -> Payload? {
        guard let slot = slot(of: id) else { return nil }
        return remove(slot)
    }

    /// Where an unanswered command goes; nil where it has ended.
    public func address(of id: UInt64) -> Address? {
        slot(of: id).flatMap { lines[Int(slots[Int($0)].line)].address }
    }

    /// Whether the command is still unanswered.
    public func contains(_ id: UInt64) -> Bool { slot(of: id) != nil }

    /// Removes and returns, in the order of submission, the commands whose deadline has come; the caller fails each with
    /// `unavailable`. A sent one may have taken effect all the same.
    public mutating func expire(at now: Int64) -> [Expired] {
        guard now >= earliestDeadline else { return [] }
        var due: [Int32] = []
        earliestDeadline = .max
        for index in slots.indices where slots[index].line >= 0 {
            if slots[index].deadline <= now {
                due.append(Int32(index))
            } else {
                earliestDeadline = min(earliestDeadline, slots[index].deadline)
            }
        }
        due.sort { slots[Int($0)].id < slots[Int($1)].id }
        return due.map { slot in
            let id = slots[Int(slot)].id
            let address = lines[Int(slots[Int(slot)].line)].address!
            return Expired(id: id, address: address, payload: remove(slot))
        }
    }

    /// When ``expire(at:)`` may next have something to do; `Int64.max` while the queue is empty of deadlines.
    public var nextExpiry: Int64 { earliestDeadline }

    // MARK: Repair

    /// Holds everything for `address` until ``resend(_:probing:)``. True where it was not held already.
    public mutating func beginRepair(of address: Address) -> Bool {
        let line = Int(findLine(address))
        if lines[line].isRepairing { return false }
        // A line in repair is not idle, even when empty: sweeping it would let commands through.
        if lines[line].count == 0 { emptyLines -= 1 }
        lines[line].isRepairing = true
        lines[line].probe = 0
        return true
    }

    /// As ``beginRepair(of:)`` for each address with unanswered commands that `isAffected`: a node is gone, the bus broke.
    public mutating func beginRepair(where isAffected: (Address) -> Bool) -> [Address] {
        var affected: [Address] = []
        for index in lines.indices where lines[index].count > 0 && !lines[index].isRepairing {
            guard let address = lines[index].address, isAffected(address) else { continue }
            lines[index].isRepairing = true
            lines[index].probe = 0
            affected.append(address)
        }
        return affected
    }

    public func isRepairing(_ address: Address) -> Bool {
        guard let line = lineOf[address] else { return false }
        return lines[Int(line)].isRepairing
    }

    /// Ends the repair: everything unanswered for `address`, in order, or only the first as a probe. The caller sends it before
    /// anything submitted later.
    public mutating func resend(_ address: Address, probing: Bool = false) -> [Sending] {
        guard let line = lineOf[address] else { return [] }
        let index = Int(line)
        let wasRepairing = lines[index].isRepairing
        lines[index].isRepairing = false
        lines[index].probe = 0
        if lines[index].count == 0 {
            if wasRepairing { becameEmpty() }
            return []
        }
        guard probing else { return sendings(of: index) }
        let first = slots[Int(lines[index].first)]
        lines[index].probe = first.id
        return [Sending(id: first.id, payload: first.payload!)]
    }

    private func sendings(of line: Int) -> [Sending] {
        var sendings: [Sending] = []
        sendings.reserveCapacity(Int(lines[line].count))
        var slot = lines[line].first
        while slot >= 0 {
            sendings.append(Sending(id: slots[Int(slot)].id, payload: slots[Int(slot)].payload!))
            slot = slots[Int(slot)].next
        }
        return sendings
    }

    /// Unanswered commands for `address`.
    public func depth(of address: Address) -> Int {
        lineOf[address].map { Int(lines[Int($0)].count) } ?? 0
    }

    // MARK: Slots and lines

    private func slot(of id: UInt64) -> Int32? {
        let index = Int(id & (1 << Self.slotBits - 1))
        guard index < slots.count, slots[index].id == id, slots[index].line >= 0 else { return nil }
        return Int32(index)
    }

    private mutating func append(_ payload: Payload, deadline: Int64, to line: Int32) -> UInt64 {
        let slot: Int32
        if freeSlot >= 0 {
            slot = freeSlot
            freeSlot = slots[Int(slot)].next
        } else {
            slot = Int32(slots.count)
            slots.append(Slot())
        }
        let id = nextSequence << Self.slotBits | UInt64(slot)
        nextSequence += 1
        let last = lines[Int(line)].last
        slots[Int(slot)] = Slot(id: id, payload: payload, deadline: deadline, line: line, previous: last, next: -1)
        if last >= 0 { slots[Int(last)].next = slot } else { lines[Int(line)].first = slot }
        lines[Int(line)].last = slot
        if lines[Int(line)].count == 0 && !lines[Int(line)].isRepairing { emptyLines -= 1 }
        lines[Int(line)].count += 1
        count += 1
        if deadline < earliestDeadline { earliestDeadline = deadline }
        return id
    }

    private mutating func remove(_ slot: Int32) -> Payload {
        let index = Int(slot)
        let (line, previous, next) = (Int(slots[index].line), slots[index].previous, slots[index].next)
        if previous >= 0 { slots[Int(previous)].next = next } else { lines[line].first = next }
        if next >= 0 { slots[Int(next)].previous = previous } else { lines[line].last = previous }
        let payload = slots[index].payload!
        let wasProbe = lines[line].probe == slots[index].id
        slots[index].payload = nil
        slots[index].line = -1
        slots[index].next = freeSlot
        freeSlot = slot
        count -= 1
        lines[line].count -= 1
        if wasProbe {
            lines[line].probe = 0
            released += sendings(of: line)
        }
        if lines[line].count == 0 && !lines[line].isRepairing { becameEmpty() }
        return payload
    }

    /// The address's line, made where there is none; a new one counts as empty.
    @inline(__always)
    private mutating func findLine(_ address: Address) -> Int32 {
        if let line = lineOf[address] { return line }
        return makeLine(address)
    }

    private mutating func makeLine(_ address: Address) -> Int32 {
        var line = Line()
        line.address = address
        let index: Int32
        if let free = freeLines.popLast() {
            index = free
            lines[Int(free)] = line
        } else {
            index = Int32(lines.count)
            lines.append(line)
        }
        lineOf[address] = index
        emptyLines += 1
        return index
    }

    private mutating func becameEmpty() {
        emptyLines += 1
        let busy = lineOf.count - emptyLines
        if emptyLines > 1024 && emptyLines > 2 * busy { sweep() }
    }

    /// Lets idle lines go.
    private mutating func sweep() {
        for index in lines.indices where lines[index].count == 0 && !lines[index].isRepairing {
            guard let address = lines[index].address else { continue }
            lineOf[address] = nil
            lines[index] = Line()
            freeLines.append(Int32(index))
        }
        emptyLines = 0
    }
}

extension CommandQueue: Sendable where Address: Sendable, Payload: Sendable {}
extension CommandQueue.Sending: Sendable where Payload: Sendable {}
extension CommandQueue.Expired: Sendable where Address: Sendable, Payload: Sendable {}
extension CommandQueue.Slot: Sendable where Payload: Sendable {}
extension CommandQueue.Line: Sendable where Address: Sendable {}
