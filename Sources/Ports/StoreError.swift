/// Why a store could not do what was asked.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The database is away, too slow or restarting.
        case unavailable
        /// This incarnation was declared dead; it may write nothing more.
        case fenced
        /// A unique email, pair or name is taken.
        case conflict
        /// The cursor or token was not made by this store.
        case badCursor
        /// A statement failed in a way that no caller can mend: a bug or a damaged database.
        case failed
    }

    public let code: Code
    /// For logs; holds no user's data.
    public let detail: String
    /// Whether the write may have been committed all the same: the connection broke between the commit and its answer.
    public let outcomeUnknown: Bool

    public init(_ code: Code, detail: String = "", outcomeUnknown: Bool = false) {
        self.code = code
        self.detail = detail
        self.outcomeUnknown = outcomeUnknown
    }

    public var isRetryable: Bool {
        switch code {
        case .unavailable: true
        case .fenced, .conflict, .badCursor, .failed: false
        }
    }

    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
