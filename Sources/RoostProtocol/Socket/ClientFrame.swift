import RoostModel

/// A client's own name for a frame: a JSON string or number of its choosing, echoed exactly as it was written.
public struct FrameID: Hashable, Sendable {
    /// The longest id in bytes, quotes and escapes included.
    public static let maximumBytes = 128

    /// JSON. Short ones need no allocation.
    let json: String

    init(json: String) { self.json = json }

    public init(_ number: Int) { json = String(number) }
}

/// A frame that a client sent.
public struct ClientFrame: Hashable, Sendable {
    public let id: FrameID?
    public let operation: ClientOperation

    public init(id: FrameID?, operation: ClientOperation) {
        self.id = id
        self.operation = operation
    }
}

public enum ClientOperation: Hashable, Sendable {
    case hello(Hello)
    case send(conversationID: ConversationID, SendBody)
    case read(conversationID: ConversationID, seq: Seq)
    case delivered(conversationID: ConversationID, seq: Seq)
    case typing(conversationID: ConversationID, isActive: Bool)
    /// Ids that are none are left out, like users that the caller may not see.
    case watch([UserID])
    case unwatch([UserID])
    case state(isBackground: Bool)
    case token(String)
    case ping

    /// Holds a token: never logged.
    public struct Hello: Hashable, Sendable {
        public var token: String
        public var clientName: String?
        public var clientVersion: String?
        public var isBackground: Bool

        public init(token: String, clientName: String? = nil, clientVersion: String? = nil, isBackground: Bool = false) {
            self.token = token
            self.clientName = clientName
            self.clientVersion = clientVersion
            self.isBackground = isBackground
        }
    }
}

/// What became of the text of a frame.
public enum ParsedFrame: Hashable, Sendable {
    case frame(ClientFrame)
    /// To be answered with the error. `isUnreadable` where the text is not an acceptable JSON object: too many of those close.
    case rejected(id: FrameID?, RoostError, isUnreadable: Bool)
}

/// The body of a new message, checked and normalised.
public struct SendBody: Hashable, Sendable {
    public var clientID: String
    public var body: MessageBody

    /// - Precondition: what ``ClientID`` and ``MessageText`` answer.
    public init(clientID: String, body: MessageBody) {
        self.clientID = clientID
        self.body = body
    }

    /// A plain text.
    public init(clientID: String, text: String) {
        self.init(clientID: clientID, body: .original(.init(text: text)))
    }

    /// Empty for a forwarded message.
    public var text: String {
        switch body {
        case .original(let original): original.text
        case .forward: ""
        }
    }
}
