import Synchronization

/// Answers one request, once, from any thread. Dropped without an answer, it answers 500.
public final class HTTPResponder: Sendable {
    private let connection: HTTPConnection
    private let exchange: Int
    public let requestID: String
    private let isUsed = Atomic<Bool>(false)

    init(connection: HTTPConnection, exchange: Int, requestID: String) {
        self.connection = connection
        self.exchange = exchange
        self.requestID = requestID
    }

    /// A second call is ignored, and so is one for a connection that has gone.
    public func respond(_ response: HTTPResponse) {
        guard !isUsed.exchange(true, ordering: .relaxed) else { return }
        let connection = connection
        let exchange = exchange
        connection.loop.run { connection.respond(response, exchange: exchange) }
    }

    deinit {
        guard !isUsed.load(ordering: .relaxed) else { return }
        let connection = connection
        let exchange = exchange
        connection.loop.execute { connection.respondFault(.internalError, exchange: exchange) }
    }
}
