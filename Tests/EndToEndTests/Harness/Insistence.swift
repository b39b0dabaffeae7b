import Foundation

extension Person {
    /// Repeats what may be repeated until there is an answer other than "not now", through one node after the other.
    func insist(
        within limit: Duration = .seconds(60), _ call: @Sendable (Person) async throws -> Answer
    ) async throws -> Answer {
        let deadline = ContinuousClock.now + limit
        var person = self
        while true {
            var last = "no answer"
            do {
                let answer = try await call(person)
                if answer.status != 503 && answer.status != 429 { return answer }
                last = "\(answer)"
            } catch is URLError {
                // The node died, or is not there.
            }
            if ContinuousClock.now > deadline { throw Failure("nothing but \(last) within \(limit)") }
            person = person.at(person.node + 1)
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
