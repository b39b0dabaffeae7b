import Foundation
import Glibc

/// A blocking TCP connection to a node, for bytes that no proper client would send.
final class TCPSocket: Sendable {
    private let descriptor: Int32

    /// - Parameter url: of a node: `http://127.0.0.1:<port>`.
    init(_ url: String) throws {
        guard let port = URL(string: url)?.port else { throw Failure("no port in \(url)") }
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 {
            close(descriptor)
            throw Failure("cannot connect to \(url): errno \(errno)")
        }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Failure("connection lost while writing: errno \(errno)") }
            sent += count
        }
    }

    /// Up to `count` bytes; none at the end of the stream.
    ///
    /// - Throws: ``Failure`` when the connection breaks, or nothing comes for `patience`.
    func read(_ count: Int, patience: Duration = .seconds(600)) throws -> [UInt8] {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var ready: Int32
        repeat { ready = Glibc.poll(&poll, 1, Int32(patience / .milliseconds(1))) } while ready < 0 && errno == EINTR
        guard ready > 0 else { throw Failure("nothing came for \(patience)") }
        var bytes = [UInt8](repeating: 0, count: count)
        let received = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard received >= 0 else { throw Failure("connection lost while reading: errno \(errno)") }
        return Array(bytes[..<received])
    }

    /// Ends both directions, as a process that exits does.
    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Breaks the connection with an RST.
    func reset() {
        // Connecting to nowhere is how Linux drops a connection at once, even while another thread reads from it (connect(2)).
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Sends a request as it stands and reads the whole answer; the request must ask for the connection to be closed.
    static func exchange(_ request: [UInt8], with url: String) async throws -> (status: Int, text: String) {
        try await onThread {
            let socket = try TCPSocket(url)
            try socket.write(request)
            var answer: [UInt8] = []
            while true {
                let bytes = try socket.read(65_536, patience: .seconds(20))
                if bytes.isEmpty { break }
                answer += bytes
            }
            let text = String(decoding: answer, as: UTF8.self)
            guard let status = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                throw Failure("no HTTP answer: \(text.prefix(200))")
            }
            return (status, text)
        }
    }
}

/// Runs what blocks on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Swift.Result { try body() }) }.start()
    }
}
