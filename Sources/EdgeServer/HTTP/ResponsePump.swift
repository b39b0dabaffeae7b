/// Pulls a streamed response's pieces and hands them to the connection as the peer takes them.
final class ResponsePump: Sendable {
    private let connection: HTTPConnection
    private let exchange: Int
    private let producer: HTTPBodyProducer

    init(connection: HTTPConnection, exchange: Int, producer: HTTPBodyProducer) {
        self.connection = connection
        self.exchange = exchange
        self.producer = producer
    }

    /// The task lives as long as the exchange: the connection cancels it when it ends first.
    func start() -> Task<Void, Never> {
        Task {
            do {
                var remaining = producer.length
                while let piece = try await producer.next() {
                    if let left = remaining {
                        guard piece.count <= left else { return fail() }
                        remaining = left - piece.count
                    }
                    if piece.isEmpty { continue }
                    guard await send(piece) else { return }
                }
                if let left = remaining, left > 0 { return fail() }
                finish(true)
            } catch {
                fail()
            }
        }
    }

    private func fail() { finish(false) }

    private func finish(_ complete: Bool) {
        let connection = connection
        let exchange = exchange
        connection.loop.execute { connection.streamEnded(exchange: exchange, complete: complete) }
    }

    private func send(_ piece: [UInt8]) async -> Bool {
        let connection = connection
        let exchange = exchange
        return await withCheckedContinuation { continuation in
            connection.loop.execute { connection.streamWrite(piece, exchange: exchange, continuation) }
        }
    }
}
