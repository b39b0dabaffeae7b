import EventLoop
import LoadCore
import RoostClient
import RoostModel
import RoostProtocol

/// Told of what a client goes through, on its loop.
protocol LoadClientOwner: AnyObject {
    /// The session stands. `isReturn` when it is not the client's first: something may have been missed.
    func ready(_ client: LoadClient, isReturn: Bool)
    func received(_ text: UnsafeBufferPointer<UInt8>, _ client: LoadClient)
    /// Room to send again.
    func drained(_ client: LoadClient)
    /// A session that was ready is gone; the client comes back by itself.
    func lost(_ client: LoadClient)
    /// It gives up: its device is revoked, or no token is to be had.
    func died(_ client: LoadClient, _ reason: String)
    func refreshedToken(_ client: LoadClient)
}

/// One user with one socket, who behaves as a good client does: greets, keeps the token fresh, and when the line breaks comes back to
/// another node after a pause that grows and is spread. Confined to its loop.
final class LoadClient: WebSocketClientDelegate, @unchecked Sendable {
    enum State: Equatable {
        case idle
        case connecting
        case greeting
        case ready
        /// Waits before it connects again.
        case pausing
        /// Gets a new token before it connects again.
        case refreshing
        case stopped
        case dead
    }

    let index: Int
    private(set) var session: AuthSession
    private(set) var state = State.idle
    /// Which node it is with, or tries next.
    private(set) var node: Int
    private let api: NodeAPI
    private let context: ClientLoop
    private unowned let owner: any LoadClientOwner
    private let sourceAddress: String?
    private var socket: WebSocketClient?
    private var since = MonotonicTime.now
    private var backoff = Backoff(first: .milliseconds(200), longest: .seconds(4))
    private var wasReady = false
    private var isRefreshing = false

    /// Ids of requests that are no sends lie above those of all sends.
    static let otherRequests = 1 << 40

    init(
        index: Int, session: AuthSession, node: Int, sourceAddress: String?, api: NodeAPI, context: ClientLoop,
        owner: any LoadClientOwner
    ) {
        self.index = index
        self.session = session
        self.node = node
        self.sourceAddress = sourceAddress
        self.api = api
        self.context = context
        self.owner = owner
    }

    var isReady: Bool { state == .ready }
    /// How long this session has been ready.
    var readyFor: Duration { state == .ready ? MonotonicTime.now - since : .zero }

    func connect() {
        state = .connecting
        since = .now
        let target = api.targets[node]
        var configuration = WebSocketClientConfiguration(host: target.host, port: target.port, path: "/v1/ws")
        configuration.subprotocols = ["roost.v1"]
        configuration.sourceAddress = sourceAddress
        configuration.openTimeout = .seconds(5)
        let socket = WebSocketClient(context, configuration, delegate: self)
        self.socket = socket
        socket.connect()
    }

    /// Sends one frame; false if it must wait.
    func send(_ frame: ClientFrame) -> Bool {
        guard state == .ready, let socket else { return false }
        return socket.sendText(frame.json())
    }

    /// Leaves this node for another one, without a pause.
    func moveOn() {
        guard state == .ready || state == .greeting || state == .connecting else { return }
        leave(abruptly: true)
        comeBack(after: .zero)
    }

    /// A node that is going away asks for it: at a random time within what it gives.
    func moveOn(within seconds: Int) {
        let pause = Duration.seconds(Double.random(in: 0...Double(max(0, seconds))))
        let socket = self.socket
        context.loop.schedule(after: pause) { [weak self] in
            guard let self, self.socket === socket, self.state == .ready else { return }
            self.leave(abruptly: false)
            self.comeBack(after: .zero)
        }
    }

    func stop() {
        guard state != .dead else { return }
        leave(abruptly: false)
        state = .stopped
    }

    /// Called now and then: a greeting that is not answered is a dead line, and a token that ends soon is renewed.
    func sweep(_ now: MonotonicTime, answerTimeout: Duration) {
        switch state {
        case .greeting: if now - since > answerTimeout { moveOn() }
        case .ready:
            // The server's clock wrote the time; a minute's difference is allowed for where tokens live long.
            let left = session.accessTokenExpiresAt - Timestamp.now
            if left < min(.seconds(90), lifetime * 0.4) { refresh() }
        case .idle, .connecting, .pausing, .refreshing, .stopped, .dead: break
        }
    }

    private var issuedAt = Timestamp.now
    private var lifetime: Duration { session.accessTokenExpiresAt - issuedAt }

    // MARK: Token

    private func refresh() {
        guard !isRefreshing else { return }
        isRefreshing = true
        let (api, token, node) = (api, session.refreshToken, node)
        Task { [self] in
            let result: Result<AuthSession, any Error>
            do { result = .success(try await api.refresh(token, node: node)) } catch { result = .failure(error) }
            context.loop.execute { self.refreshed(result) }
        }
    }

    private func refreshed(_ result: Result<AuthSession, any Error>) {
        isRefreshing = false
        switch result {
        case .success(let session):
            self.session = session
            issuedAt = .now
            owner.refreshedToken(self)
            if state == .ready {
                _ = send(ClientFrame(id: FrameID(Self.otherRequests), operation: .token(session.accessToken)))
            } else if state == .refreshing {
                connect()
            }
        case .failure(let error as NodeAPI.Refusal):
            guard state != .stopped, state != .dead else { return }
            leave(abruptly: false)
            die("no new token: status \(error.status)")
        case .failure:
            // No node could answer; the old token may still do.
            if state == .refreshing { comeBack(after: backoffPause()) }
        }
    }

    // MARK: Coming back

    private func leave(abruptly: Bool) {
        let socket = self.socket
        self.socket = nil
        let wasReady = state == .ready
        state = .pausing
        if abruptly { socket?.abort() } else { socket?.close() }
        if wasReady { owner.lost(self) }
    }

    private func comeBack(after pause: Duration, withNewToken: Bool = false) {
        node = (node + 1) % api.targets.count
        state = .pausing
        context.loop.schedule(after: pause) { [weak self] in
            guard let self, self.state == .pausing else { return }
            if withNewToken {
                self.state = .refreshing
                self.refresh()
            } else {
                self.connect()
            }
        }
    }

    private func backoffPause() -> Duration {
        var random = SystemRandomNumberGenerator()
        return backoff.next(using: &random)
    }

    private func die(_ reason: String) {
        state = .dead
        owner.died(self, reason)
    }

    // MARK: WebSocketClientDelegate

    func opened(_ socket: WebSocketClient, subprotocol: String?) {
        guard socket === self.socket else { return socket.abort() }
        state = .greeting
        since = .now
        let hello = ClientOperation.Hello(token: session.accessToken, clientName: "roost-load", clientVersion: "1")
        socket.sendText(ClientFrame(id: nil, operation: .hello(hello)).json())
    }

    /// The server said `ready`.
    func greeted() {
        guard state == .greeting else { return }
        state = .ready
        since = .now
        backoff.reset()
        let isReturn = wasReady
        wasReady = true
        owner.ready(self, isReturn: isReturn)
    }

    func received(text: UnsafeRawBufferPointer, _ socket: WebSocketClient) {
        guard socket === self.socket else { return }
        owner.received(text.assumingMemoryBound(to: UInt8.self), self)
    }

    func drained(_ socket: WebSocketClient) {
        if socket === self.socket, state == .ready { owner.drained(self) }
    }

    func closed(_ how: WebSocketClientClosure, _ socket: WebSocketClient) {
        guard socket === self.socket else { return }
        self.socket = nil
        let wasReady = state == .ready
        state = .pausing
        if wasReady { owner.lost(self) }
        if case .closeFrame(let number?, _) = how, let code = CloseCode(rawValue: number) {
            switch code {
            case .revoked, .profileIncomplete: return die("closed with \(number)")
            case .unauthenticated, .tokenExpired: return comeBack(after: backoffPause(), withNewToken: true)
            case .normal, .protocolError, .invalidPayload, .messageTooBig, .internalError, .wrongUse, .tooSlow, .goingAway: break
            }
        }
        comeBack(after: backoffPause())
    }
}
