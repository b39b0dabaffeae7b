import RoostModel

/// Which conversations are being read to be shown anew, so that the newest state is shown, once, and nothing after a removal. Pure.
struct ViewReads {
    enum Outcome: Equatable {
        case show
        /// It changed while it was read.
        case readAgain
        /// The user is a member no longer.
        case drop
    }

    private enum Reading { case fresh, stale, cancelled, cancelledAndWanted }

    private var readings: [ConversationID: Reading] = [:]

    /// - Returns: whether to read now; a reading under way is done again instead.
    mutating func begin(_ conversation: ConversationID) -> Bool {
        switch readings[conversation] {
        case nil:
            readings[conversation] = .fresh
            return true
        case .fresh, .stale: readings[conversation] = .stale
        case .cancelled, .cancelledAndWanted: readings[conversation] = .cancelledAndWanted
        }
        return false
    }

    /// What is being read must not be shown.
    mutating func forget(_ conversation: ConversationID) {
        if readings[conversation] != nil { readings[conversation] = .cancelled }
    }

    mutating func ended(_ conversation: ConversationID) -> Outcome {
        switch readings[conversation] {
        case .stale, .cancelledAndWanted:
            readings[conversation] = .fresh
            return .readAgain
        case .fresh:
            readings[conversation] = nil
            return .show
        case nil, .cancelled:
            readings[conversation] = nil
            return .drop
        }
    }
}
