import Ports
import RoostModel

/// Where a batch goes: an endpoint of a node.
struct Destination: Hashable {
    let node: NodeIdentity
    let endpoint: Int

    // An incarnation belongs to one name, so the name need not be compared or hashed on every frame.
    static func == (left: Destination, right: Destination) -> Bool {
        left.endpoint == right.endpoint && left.node.incarnation == right.node.incarnation
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(node.incarnation.low)
        hasher.combine(endpoint)
    }

    var subject: Subject {
        Subject("roost", "v1", "node", node.name, node.incarnation.description, String(endpoint))
    }
}

/// Gathers frames by destination during a loop turn, and publishes each destination's as one bus message at its end.
/// Confined to its loop.
struct Courier {
    /// A batch is sent early when it reaches this size, which stays well under the bus's maximum.
    static let batchBytes = 128 * 1024

    private let bus: any MessageBus
    private var batches: [Destination: ByteWriter] = [:]
    private var subjects: [Destination: Subject] = [:]

    init(bus: any MessageBus) { self.bus = bus }

    var isEmpty: Bool { batches.isEmpty }

    /// Sends the batch at once where the frame made it full.
    mutating func add(_ frame: Frame, to destination: Destination, header: BatchHeader) {
        if batches[destination] == nil {
            var writer = ByteWriter(capacity: 1024)
            header.write(to: &writer)
            batches[destination] = writer
        }
        frame.write(to: &batches[destination]!)
        if batches[destination]!.count >= Self.batchBytes, let writer = batches.removeValue(forKey: destination) {
            publish(writer, to: destination)
        }
    }

    mutating func flush() {
        let ready = batches
        batches.removeAll(keepingCapacity: true)
        for (destination, writer) in ready { publish(writer, to: destination) }
    }

    /// Subjects of nodes that are gone.
    mutating func forget(except live: Set<NodeIdentity>) {
        subjects = subjects.filter { live.contains($0.key.node) }
    }

    private mutating func publish(_ writer: ByteWriter, to destination: Destination) {
        let subject: Subject
        if let known = subjects[destination] {
            subject = known
        } else {
            subject = destination.subject
            subjects[destination] = subject
        }
        // What cannot be published is found again: calls fail or are sent again when the bus is back, and sessions are told `resync`.
        try? bus.publish(writer.bytes, to: subject)
    }
}
