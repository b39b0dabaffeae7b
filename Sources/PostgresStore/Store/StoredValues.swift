import RoostModel

// How enumerations are stored; the numbers stand in migrations/.

extension ConversationKind {
    var stored: Int16 {
        switch self {
        case .direct: 0
        case .group: 1
        case .channel: 2
        }
    }

    init(stored: Int16) {
        switch stored {
        case 0: self = .direct
        case 1: self = .group
        default: self = .channel
        }
    }
}

extension MemberRole {
    var stored: Int16 {
        switch self {
        case .admin: 0
        case .member: 1
        }
    }

    init(stored: Int16) { self = stored == 0 ? .admin : .member }
}

extension Message.Kind {
    var stored: Int16 {
        switch self {
        case .text: 0
        case .image: 1
        case .audio: 2
        case .video: 3
        case .file: 4
        case .system: 5
        }
    }

    /// A kind of a newer release is shown as a system message.
    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .system }
}

extension PushProvider {
    var stored: Int16 {
        switch self {
        case .apns: 1
        case .fcm: 2
        case .webpush: 3
        }
    }

    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .webpush }
}

extension ShardKind {
    var stored: Int16 {
        switch self {
        case .conversation: 0
        case .presence: 1
        }
    }

    init(stored: Int16) { self = stored == 0 ? .conversation : .presence }
}

extension HistorySetting {
    var stored: Int16 {
        switch self {
        case .full: 0
        case .sinceJoined: 1
        }
    }

    /// What a newer release may know beside the two is taken for the stricter one.
    init(stored: Int16) { self = stored == 0 ? .full : .sinceJoined }
}

extension Media.State {
    var stored: Int16 {
        switch self {
        case .processing: 0
        case .ready: 1
        case .rejected: 2
        }
    }

    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .rejected }
}

extension Media.Kind {
    var stored: Int16 {
        switch self {
        case .image: 0
        case .audio: 1
        case .video: 2
        case .file: 3
        }
    }

    init(stored: Int16) { self = Self.allCases.first { $0.stored == stored } ?? .file }
}
