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
    private(set) var failedPublishes = 0

    init(bus: any MessageBus) { self.bus = bus }

    var isEmpty: Bool { batches.isEmpty }

    /// False where the batch that the frame made full could not be published.
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
        do throws(BusError) {
            try bus.publish(writer.bytes, to: subject)
        } catch {
            // What is lost here is found again: calls by their deadline or by ``Endpoint``'s check of the bus, events by resync.
            failedPublishes += 1
        }
    }
}
