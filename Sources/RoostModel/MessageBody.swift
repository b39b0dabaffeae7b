/// What a client asks to be sent, checked and normalised, as it wrote it.
public enum MessageBody: Hashable, Sendable {
    case original(Original)
    /// A copy of a message that the sender can see.
    case forward(ConversationID, Seq)

    public struct Original: Hashable, Sendable {
        /// Not `system`.
        public var kind: Message.Kind
        public var text: String
        public var mediaID: MediaID?
        public var replyTo: Seq?
        public var mentions: [UserID]

        public init(
            kind: Message.Kind = .text, text: String, mediaID: MediaID? = nil, replyTo: Seq? = nil, mentions: [UserID] = []
        ) {
            self.kind = kind
            self.text = text
            self.mediaID = mediaID
            self.replyTo = replyTo
            self.mentions = mentions
        }
    }

    /// A hash of everything in the body (FNV-1a, 64 bits), the same in every process and release: it is stored with the message.
    /// Not for strangers' input: only a sender can make two bodies of their own collide.
    public var fingerprint: Int64 {
        var hash = Fingerprint()
        switch self {
        case .original(let body):
            hash.add(UInt8(1))
            hash.add(body.kind.rawValue)
            hash.add(body.text)
            hash.add(body.mediaID)
            hash.add(UInt64(bitPattern: body.replyTo?.value ?? 0))
            for user in body.mentions { hash.add(user) }
        case .forward(let conversation, let seq):
            hash.add(UInt8(2))
            hash.add(conversation)
            hash.add(UInt64(bitPattern: seq.value))
        }
        return Int64(bitPattern: hash.value)
    }
}

/// What a new message will hold, with everything that its body names looked up.
public struct MessageContent: Hashable, Sendable {
    public var kind: Message.Kind
    public var text: String
    public var media: Media?
    public var replyTo: Seq?
    public var mentions: [UserID]
    public var isForwarded: Bool

    public init(
        kind: Message.Kind = .text, text: String, media: Media? = nil, replyTo: Seq? = nil, mentions: [UserID] = [],
        isForwarded: Bool = false
    ) {
        self.kind = kind
        self.text = text
        self.media = media
        self.replyTo = replyTo
        self.mentions = mentions
        self.isForwarded = isForwarded
    }
}

/// FNV-1a over fields, each with its length, so that no two lists of fields run together.
struct Fingerprint {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            add(UInt64(bytes.count))
            for byte in bytes { add(byte) }
        }
    }

    mutating func add<Subject>(_ id: Identifier<Subject>?) {
        add(id?.high ?? 0)
        add(id?.low ?? 0)
    }
}
