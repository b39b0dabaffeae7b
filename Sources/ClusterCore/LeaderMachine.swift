import RoostModel

/// Who tries to lead, and when. The store decides: leadership is a row with a lease and a term, and everything a leader does
/// is refused when its term is over. So two who think they lead do no harm, and a suspect leader can be displaced early.
public struct LeaderMachine: Sendable {
    /// An attempt to make now.
    public struct Attempt: Hashable, Sendable {
        /// The leader to take it from though its lease runs.
        public let displacing: IncarnationID?
    }

    /// What a node knows of the present leader.
    public enum Incumbent: Hashable, Sendable {
        /// Somebody else leads, by all that is known.
        case fine
        /// Nobody leads, or the leader is gone or suspect: it may be taken from that incarnation, if any.
        case vacant(IncarnationID?)
    }

    private let timings: ClusterTimings
    /// While leading: the term, and the start of the last success.
    private var tenure: (term: Int64, since: Duration)?
    private var nextAttempt = Duration.zero
    private var vacantSince: Duration?
    private var isAttempting = false
    /// When this node became leader.
    public private(set) var leadingSince: Duration?

    public init(timings: ClusterTimings) {
        self.timings = timings
    }

    /// The term to act under; nil while not leading, or while the lease is too old to be sure.
    public func term(at now: Duration) -> Int64? {
        guard let tenure, now - tenure.since < timings.servingWindow else { return nil }
        return tenure.term
    }

    /// - Parameter rank: this node's place among those that could lead, from 0. Each lets the earlier ones try first.
    public mutating func tick(_ incumbent: Incumbent, rank: Int, at now: Duration) -> Attempt? {
        if let tenure {
            vacantSince = nil
            if now - tenure.since >= timings.leaseDuration { resign() }
        }
        guard !isAttempting else { return nil }
        if tenure != nil {
            guard now >= nextAttempt else { return nil }
            return attempt(displacing: nil, at: now)
        }
        switch incumbent {
        case .fine:
            vacantSince = nil
            return nil
        case .vacant(let incumbent):
            let since = vacantSince ?? now
            vacantSince = since
            guard now - since >= timings.candidacyStep * rank, now >= nextAttempt else { return nil }
            return attempt(displacing: incumbent, at: now)
        }
    }

    private mutating func attempt(displacing incumbent: IncarnationID?, at now: Duration) -> Attempt {
        isAttempting = true
        nextAttempt = now + timings.renewalInterval
        return Attempt(displacing: incumbent)
    }

    /// The store gave or prolonged the leadership under `term`; nil where another holds it.
    public mutating func attemptEnded(term: Int64?, startedAt start: Duration, at now: Duration) {
        isAttempting = false
        guard let term else {
            resign()
            // Somebody was faster; the next view tells who.
            nextAttempt = now + timings.candidacyStep
            return
        }
        if tenure?.term != term { leadingSince = now }
        tenure = (term, start)
        vacantSince = nil
    }

    /// The store could not be asked.
    public mutating func attemptFailed(at now: Duration) {
        isAttempting = false
        nextAttempt = now + timings.retryInterval
    }

    /// The store refused an act under this term, or this incarnation is over.
    public mutating func resign() {
        tenure = nil
        leadingSince = nil
    }
}
