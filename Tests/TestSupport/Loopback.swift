import EventLoop
import Glibc
import Runtime

public enum Loopback {
    /// A TCP port of 127.0.0.1 that nobody listens on now.
    public static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard result else { throw ChildProcessError(what: "no free port: errno \(errno)") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Whether somebody listens on a port.
    public static func accepts(port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = Self.address(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }
}

/// A directory of a test's own under the system's temporary one.
public enum TemporaryDirectory {
    public static func make(_ purpose: String) throws -> String {
        let base = Configuration.processEnvironment()["TMPDIR"] ?? "/tmp"
        var template = Array("\(base)/roost-\(purpose)-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { throw ChildProcessError(what: "mkdtemp: errno \(errno)") }
        return String(cString: path)
    }

    public static func remove(_ path: String) async {
        try? await ChildProcess.run(["rm", "-rf", "--", path])
    }
}

/// Polls until `condition` holds: for what other processes do, and only with a long limit that no healthy run comes near.
///
/// - Throws: ``ChildProcessError`` after `limit`.
public func eventually(
    _ what: String, within limit: Duration = .seconds(30), every pause: Duration = .milliseconds(10),
    _ condition: @Sendable () async throws -> Bool
) async throws {
    let deadline = MonotonicTime.now + limit
    while try await !condition() {
        if MonotonicTime.now > deadline { throw ChildProcessError(what: "not within \(limit): \(what)") }
        try await Task.sleep(for: pause)
    }
}
