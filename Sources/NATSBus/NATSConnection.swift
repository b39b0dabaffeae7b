import CNATS
import Ports
import Runtime

/// What happens to a connection, as libnats tells it, one at a time, on a thread of libnats.
enum NATSEvent: Sendable {
    /// For the first time, after ``NATSConnection/open(_:onEvent:)`` had returned without a connection.
    case connected(maximumPayloadBytes: Int)
    case disconnected(reason: String)
    case reconnected(maximumPayloadBytes: Int)
    case slowConsumer
    case problem(String)
    /// The last event.
    case closed(reason: String)
}

/// Owns a `natsConnection`. All calls are safe on any thread; those that may block say so.
final class NATSConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { natsConnection_Destroy(pointer) }

    /// Connects, or goes on trying in the background. Blocks for up to the connect timeout.
    ///
    /// - Returns: the connection, and whether it stands already.
    /// - Throws: `refused` where the options or the library are at fault.
    static func open(
        _ options: NATSBusOptions, onEvent: @escaping @Sendable (NATSEvent) -> Void
    ) throws(BusError) -> (connection: NATSConnection, isConnected: Bool) {
        try check(nats_Open(-1))
        try check(nats_SetMessageDeliveryPoolSize(Int32(options.deliveryThreads)))
        var made: OpaquePointer?
        try check(natsOptions_Create(&made))
        guard let settings = made else { throw BusError(.refused, detail: "no options") }
        defer { natsOptions_Destroy(settings) }
        try apply(options, to: settings)

        // Released by the last callback.
        let events = EventBox(onEvent)
        let box = Unmanaged.passRetained(events).toOpaque()
        try check(natsOptions_SetRetryOnFailedConnect(settings, true, onConnected, box))
        try check(natsOptions_SetDisconnectedCB(settings, onDisconnected, box))
        try check(natsOptions_SetReconnectedCB(settings, onReconnected, box))
        try check(natsOptions_SetErrorHandler(settings, onError, box))
        try check(natsOptions_SetClosedCB(settings, onClosed, box))

        var opened: OpaquePointer?
        let status = natsConnection_Connect(&opened, settings)
        guard let opened, status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
            let error = error(status)
            // Callbacks may be on their way or not, libnats does not say: the box stays for the life of the process.
            abandoned.withLock { $0.append(events) }
            Unmanaged<EventBox>.fromOpaque(box).release()
            throw error
        }
        return (NATSConnection(opened), status == NATS_OK)
    }

    private static let abandoned = Locked<[EventBox]>([])

    private static func apply(_ options: NATSBusOptions, to settings: OpaquePointer) throws(BusError) {
        let urls = options.url.split(separator: ",").map { String($0) }
        try check(withCStrings(urls) { natsOptions_SetServers(settings, $0, Int32(urls.count)) })
        try check(natsOptions_SetName(settings, options.name))
        try check(natsOptions_SetTimeout(settings, options.connectTimeout.wholeMilliseconds))
        try check(natsOptions_SetWriteDeadline(settings, options.writeDeadline.wholeMilliseconds))
        try check(natsOptions_SetPingInterval(settings, options.pingInterval.wholeMilliseconds))
        try check(natsOptions_SetMaxPingsOut(settings, Int32(options.pingsUnanswered)))
        // For ever.
        try check(natsOptions_SetMaxReconnect(settings, -1))
        try check(natsOptions_SetReconnectWait(settings, options.reconnectWait.wholeMilliseconds))
        let jitter = options.reconnectJitter.wholeMilliseconds
        try check(natsOptions_SetReconnectJitter(settings, jitter, jitter))
        // Nothing is kept for later: a publish without a connection fails (libnats: NATS_INSUFFICIENT_BUFFER).
        try check(natsOptions_SetReconnectBufSize(settings, 0))
        // Or a flusher thread adds about a millisecond to each message.
        try check(natsOptions_SetSendAsap(settings, true))
        // Or each subscription is a thread.
        try check(natsOptions_UseGlobalMessageDelivery(settings, true))
    }

    var maximumPayloadBytes: Int { Int(natsConnection_GetMaxPayload(pointer)) }

    /// Hands a message to the socket. Blocks only where the server does not read, and then for the write deadline at most.
    func publish(_ payload: [UInt8], to subject: String, reply: String? = nil) throws(BusError) {
        let status = payload.withUnsafeBytes { bytes in
            if let reply {
                natsConnection_PublishRequest(pointer, subject, reply, bytes.baseAddress, Int32(bytes.count))
            } else {
                natsConnection_Publish(pointer, subject, bytes.baseAddress, Int32(bytes.count))
            }
        }
        try Self.check(status)
    }

    /// Sends what is buffered, waits for the server to have read it, and closes. Blocks.
    func close(flushFor limit: Duration) {
        natsConnection_FlushTimeout(pointer, limit.wholeMilliseconds)
        natsConnection_Close(pointer)
    }

    // MARK: Errors

    static func check(_ status: natsStatus) throws(BusError) {
        if status != NATS_OK { throw error(status) }
    }

    /// - Precondition: called at once and on the thread of the failed call, since the text is the thread's.
    static func error(_ status: natsStatus) -> BusError {
        let text = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        let detail = text.isEmpty ? statusText(status) : text
        switch status {
        case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_NO_SERVER, NATS_STALE_CONNECTION, NATS_IO_ERROR,
            NATS_INSUFFICIENT_BUFFER, NATS_NOT_YET_CONNECTED, NATS_DRAINING, NATS_TIMEOUT, NATS_INVALID_SUBSCRIPTION:
            return BusError(.disconnected, detail: detail)
        case NATS_MAX_PAYLOAD: return BusError(.tooLarge, detail: detail)
        default: return BusError(.refused, detail: detail)
        }
    }

    static func statusText(_ status: natsStatus) -> String { natsStatus_GetText(status).map { String(cString: $0) } ?? "" }

    /// Why a connection is as it is: libnats' last error of the connection.
    static func lastError(of connection: OpaquePointer?) -> String {
        var text: UnsafePointer<CChar>?
        let status = natsConnection_GetLastError(connection, &text)
        if let text, text.pointee != 0 { return String(cString: text) }
        return statusText(status)
    }
}

// MARK: Callbacks of C

/// Keeps the closure for as long as libnats may call it.
final class EventBox: Sendable {
    let onEvent: @Sendable (NATSEvent) -> Void
    init(_ onEvent: @escaping @Sendable (NATSEvent) -> Void) { self.onEvent = onEvent }

    static func of(_ closure: UnsafeMutableRawPointer?) -> EventBox {
        Unmanaged<EventBox>.fromOpaque(closure!).takeUnretainedValue()
    }
}

private func onConnected(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    EventBox.of(closure).onEvent(.connected(maximumPayloadBytes: Int(natsConnection_GetMaxPayload(connection))))
}

private func onDisconnected(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    EventBox.of(closure).onEvent(.disconnected(reason: NATSConnection.lastError(of: connection)))
}

private func onReconnected(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    EventBox.of(closure).onEvent(.reconnected(maximumPayloadBytes: Int(natsConnection_GetMaxPayload(connection))))
}

private func onError(
    _ connection: OpaquePointer?, _ subscription: OpaquePointer?, _ status: natsStatus, _ closure: UnsafeMutableRawPointer?
) {
    let event: NATSEvent =
        status == NATS_SLOW_CONSUMER ? .slowConsumer : .problem(NATSConnection.lastError(of: connection))
    EventBox.of(closure).onEvent(event)
}

private func onClosed(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    let box = Unmanaged<EventBox>.fromOpaque(closure!).takeRetainedValue()
    box.onEvent(.closed(reason: NATSConnection.lastError(of: connection)))
}

extension Duration {
    var wholeMilliseconds: Int64 { max(1, Int64(self / .milliseconds(1))) }
}

private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let arrays = strings.map { Array($0.utf8CString) }
    func descend(_ index: Int, _ pointers: inout [UnsafePointer<CChar>?]) -> Result {
        if index == arrays.count { return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) } }
        return arrays[index].withUnsafeBufferPointer { buffer in
            pointers.append(buffer.baseAddress)
            return descend(index + 1, &pointers)
        }
    }
    var pointers: [UnsafePointer<CChar>?] = []
    pointers.reserveCapacity(strings.count)
    return descend(0, &pointers)
}
