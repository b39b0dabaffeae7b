import Glibc

/// Standard output, standard error and small files, unbuffered: a test that waits for a line gets it at once.
public enum Output {
    public struct Fault: Error, CustomStringConvertible {
        public let description: String
    }

    public static func print(_ text: String) { write(text, descriptor: 1) }
    public static func complain(_ text: String) { write(text, descriptor: 2) }

    public static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

    /// Replaces the file at once, so that a reader never sees half of it.
    public static func write(_ text: String, to path: String) throws(Fault) {
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Fault(description: "cannot write \(path): errno \(errno)") }
        let isWritten = write(text, descriptor: descriptor)
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else { throw Fault(description: "cannot write \(path): errno \(errno)") }
    }

    public static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    @discardableResult
    private static func write(_ text: String, descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
