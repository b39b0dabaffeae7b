/// A file that messages, profiles and groups refer to, as stored.
public struct Media: Hashable, Sendable {
    public enum State: String, Sendable, CaseIterable { case processing, ready, rejected }

    public enum Kind: String, Sendable, CaseIterable {
        case image, audio, video, file

        /// What a message that carries it is.
        public var messageKind: Message.Kind {
            switch self {
            case .image: .image
            case .audio: .audio
            case .video: .video
            case .file: .file
            }
        }
    }

    public let id: MediaID
    /// Who uploaded it, and alone may attach it.
    public let ownerID: UserID
    public var state: State
    public var kind: Kind
    public var contentType: String
    public var fileName: String?
    public var bytes: Int64
    /// Pixels, after the orientation was applied.
    public var width: Int?
    public var height: Int?
    /// Seconds.
    public var duration: Double?
    public var blurHash: String?

    public init(
        id: MediaID, ownerID: UserID, state: State, kind: Kind, contentType: String, fileName: String? = nil, bytes: Int64,
        width: Int? = nil, height: Int? = nil, duration: Double? = nil, blurHash: String? = nil
    ) {
        self.id = id
        self.ownerID = ownerID
        self.state = state
        self.kind = kind
        self.contentType = contentType
        self.fileName = fileName
        self.bytes = bytes
        self.width = width
        self.height = height
        self.duration = duration
        self.blurHash = blurHash
    }
}
