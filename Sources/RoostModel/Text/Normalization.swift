@_spi(_Unicode) import Swift

extension String {
    /// Normalisation form C (UAX #15). Equal strings of Swift have equal bytes in it.
    public var nfc: String {
        // Everything below U+0300 is in form C whatever follows it; its UTF-8 has no lead byte from 0xCC on.
        if utf8.allSatisfy({ $0 < 0xCC }) { return self }
        var scalars = String.UnicodeScalarView()
        scalars.reserveCapacity(utf8.count)
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }

    /// The scalars of normalisation form D: letters, and their accents after them.
    var nfd: [Unicode.Scalar] { Array(_nfd) }
}
