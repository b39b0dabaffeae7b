import CNATS
import Ports
import Runtime
import Synchronization

/// Owns a `natsSubscription`. Ends when cancelled or released.
final class NATSSubscription: BusSubscription, @unchecked Sendable {
    private let pointer: OpaquePointer
    private let box: HandlerBox
    /// The subscription is of the connection, which must outlive it.
    private let connection: NATSConnection

    /// A message as libnats has it; valid during the call only.
    struct Message {
        let pointer: OpaquePointer

        var payload: [UInt8] {
            let length = Int(natsMsg_GetDataLength(pointer))
            guard length > 0, let data = natsMsg_GetData(pointer) else { return [] }
            return [UInt8](UnsafeRawBufferPointer(start: data, count: length))
        }
        var subject: String { natsMsg_GetSubject(pointer).map { String(cString: $0) } ?? "" }
        var reply: String? { natsMsg_GetReply(pointer).map { String(cString: $0) } }
        /// The server's word that nobody subscribes to the subject of a request.
        var saysNoResponders: Bool { natsMsg_IsNoResponders(pointer) }
    }

    init(
        _ connection: NATSConnection, subject: String, options: NATSBusOptions, handler: @escaping @Sendable (Message) -> Void
    ) throws(BusError) {
        let box = HandlerBox(handler)
        let retained = Unmanaged.passRetained(box).toOpaque()
        var made: OpaquePointer?
        let status = natsConnection_Subscribe(&made, connection.pointer, subject, onMessage, retained)
        guard status == NATS_OK, let made else {
            let error = NATSConnection.error(status)
            Unmanaged<HandlerBox>.fromOpaque(retained).release()
            throw error
        }
        pointer = made
        self.box = box
        self.connection = connection
        // After the last call of the handler libnats gives the box back. It refuses only where the connection has just been closed;
        // a last call may then still be under way, and the box is left.
        natsSubscription_SetOnCompleteCB(made, onComplete, retained)
        natsSubscription_SetPendingLimits(made, Int32(options.backlogMessages), Int32(options.backlogBytes))
    }

    deinit {
        cancel()
        natsSubscription_Destroy(pointer)
    }

    func cancel() {
        // libnats may still deliver a message that waits; the box stands before it.
        if box.close() { natsSubscription_Unsubscribe(pointer) }
    }
}

/// Keeps the handler for as long as libnats may call it, and stops calling it at a cancellation.
private final class HandlerBox: Sendable {
    private let handler: @Sendable (NATSSubscription.Message) -> Void
    private let isOpen = Atomic<Bool>(true)

    init(_ handler: @escaping @Sendable (NATSSubscription.Message) -> Void) { self.handler = handler }

    /// - Returns: whether it was open.
    func close() -> Bool { isOpen.exchange(false, ordering: .sequentiallyConsistent) }

    func deliver(_ message: OpaquePointer) {
        if isOpen.load(ordering: .sequentiallyConsistent) { handler(NATSSubscription.Message(pointer: message)) }
    }
}

private func onMessage(
    _ connection: OpaquePointer?, _ subscription: OpaquePointer?, _ message: OpaquePointer?, _ closure: UnsafeMutableRawPointer?
) {
    guard let message else { return }
    Unmanaged<HandlerBox>.fromOpaque(closure!).takeUnretainedValue().deliver(message)
    natsMsg_Destroy(message)
}

private func onComplete(_ closure: UnsafeMutableRawPointer?) {
    Unmanaged<HandlerBox>.fromOpaque(closure!).release()
}
