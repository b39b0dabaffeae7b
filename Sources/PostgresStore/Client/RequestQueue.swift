import EventLoop

/// A unit of the pipeline: steps up to one sync, which together are one transaction.
struct Request {
    enum Step {
        case prepare(String)
        case execute
    }

    let deadline: MonotonicTime
    let completion: PostgresConnection.Completion
    var steps: [Step] = []
    fileprivate var position = 0
    fileprivate var rows: [PostgresRows] = []
    fileprivate var error: PostgresError?

    init(deadline: MonotonicTime, completion: @escaping PostgresConnection.Completion) {
        self.deadline = deadline
        self.completion = completion
    }

    /// The sync has come: the transaction is over, one way or the other.
    func finish() {
        if let error { return completion(.failure(error)) }
        guard position == steps.count else {
            return completion(.failure(PostgresError(.protocolViolation, detail: "answer ended early", wasSent: true)))
        }
        completion(.success(rows))
    }
}

/// The requests that were sent and not answered, oldest first.
struct RequestQueue {
    private var requests: [Request] = []
    private var head = 0

    var count: Int { requests.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Request? { isEmpty ? nil : requests[head] }

    mutating func append(_ request: Request) { requests.append(request) }

    /// The step whose result is being read.
    var currentStep: Request.Step? {
        guard !isEmpty, requests[head].position < requests[head].steps.count else { return nil }
        return requests[head].steps[requests[head].position]
    }

    mutating func take(_ rows: PostgresRows) {
        switch currentStep {
        case .execute: requests[head].rows.append(rows)
        case .prepare, nil: break
        }
    }

    /// The first error is the reason; what follows was skipped because of it.
    mutating func fail(_ error: PostgresError) {
        if !isEmpty, requests[head].error == nil { requests[head].error = error }
    }

    /// The results of one step have ended.
    mutating func endStep() { requests[head].position += 1 }

    mutating func removeFirst() -> Request {
        let request = requests[head]
        head += 1
        if head == requests.count {
            requests.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 256 {
            requests.removeFirst(head)
            head = 0
        }
        return request
    }

    mutating func removeAll() -> [Request] {
        let all = Array(requests[head...])
        requests = []
        head = 0
        return all
    }
}
