import EdgeServer
import RoostModel
import Runtime

/// An ``API`` behind a listener: requests run on an executor, are counted, timed and logged.
struct ServedRequests: Sendable {
    private let api: API
    private let executor: RequestExecutor
    private let metrics: RequestMetrics
    private let logger: Logger

    /// - Parameter listener: a label of the metrics.
    init(api: API, executor: RequestExecutor, metrics: Metrics, listener: String, logger: Logger) {
        self.api = api
        self.executor = executor
        self.metrics = RequestMetrics(api.router.routes, listener: listener, metrics: metrics)
        self.logger = logger
    }

    func admit(_ head: HTTPRequestHead) -> Admission {
        switch api.decide(head, counts: true) {
        case .run: return .buffer(limit: Limits.jsonBodyBytes)
        case .respond(let response, let route):
            record(head, route, response.status, .zero)
            return .respond(response)
        }
    }

    /// Answers once, from any thread.
    func handle(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
        let start = ContinuousClock.now
        let finish: @Sendable (HTTPResponse, Int?) -> Void = { response, route in
            record(request.head, route, response.status, ContinuousClock.now - start)
            answer(response)
        }
        // Once more: the token may have been revoked while the body came.
        switch api.decide(request.head, counts: false) {
        case .respond(let response, let route): finish(response, route)
        case .run(let match, let caller):
            executor.run({ await api.run(match, caller, request) }) { result in
                switch result {
                case .success(let response): finish(response, match.index)
                case .failure(let error): finish(api.failure(error, request.head), match.index)
                }
            }
        }
    }

    /// As a listener would get it, for tests without one.
    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if case .respond(let response) = admit(request.head) { return response }
        return await answer(to: request)
    }

    /// Of a request that was admitted.
    func answer(to request: HTTPRequest) async -> HTTPResponse {
        await withCheckedContinuation { continuation in handle(request) { continuation.resume(returning: $0) } }
    }

    private func record(_ head: HTTPRequestHead, _ route: Int?, _ status: Int, _ duration: Duration) {
        metrics.record(route: route, status: status, duration: duration)
        logger.debug(
            "request answered",
            [
                .request: head.requestID, .method: head.method,
                .route: route.map { api.router.routes[$0].template.text } ?? "none", .status: status, .duration: duration,
            ])
    }
}
