import RoostModel

extension JSONWriter {
    /// A `Media`. The paths need the bearer of someone who may see it.
    public mutating func media(_ media: Media) {
        object { writer in
            writer.member("id", media.id)
            writer.member("state", media.state.rawValue)
            writer.member("kind", media.kind.rawValue)
            writer.member("contentType", media.contentType)
            writer.member("fileName", media.fileName)
            writer.key("bytes")
            writer.integer(media.bytes)
            writer.member("width", media.width)
            writer.member("height", media.height)
            writer.member("duration", media.duration)
            writer.member("blurHash", media.blurHash)
            writer.nullMember("waveform")
            writer.member("url", "/v1/media/\(media.id)/content")
            writer.nullMember("thumbnailUrl")
        }
    }

    public mutating func member(_ name: StaticString, _ media: Media?) {
        key(name)
        if let media { self.media(media) } else { null() }
    }

    public mutating func member(_ name: StaticString, _ value: Int?) {
        key(name)
        if let value { integer(value) } else { null() }
    }

    public mutating func member(_ name: StaticString, _ value: Double?) {
        key(name)
        // JSON has no other numbers.
        if let value, value.isFinite { raw("\(value)".utf8) } else { null() }
    }
}

extension Media: WireDecodable {
    /// The owner is not shown, and is read as the nil id.
    public init?(json slice: JSONSlice) {
        let fields = WireFields(slice)
        guard let id = fields["id"]?.identifier(MediaID.self), let state = fields["state"]?.string.flatMap(State.init),
            let kind = fields["kind"]?.string.flatMap(Kind.init), let contentType = fields["contentType"]?.string,
            let bytes = fields["bytes"]?.integer
        else { return nil }
        self.init(
            id: id, ownerID: UserID(high: 0, low: 0), state: state, kind: kind, contentType: contentType,
            fileName: fields["fileName"]?.string, bytes: bytes, width: fields["width"]?.integer.map { Int($0) },
            height: fields["height"]?.integer.map { Int($0) }, duration: fields["duration"]?.double,
            blurHash: fields["blurHash"]?.string)
    }
}
