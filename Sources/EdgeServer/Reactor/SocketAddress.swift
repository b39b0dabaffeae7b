import CEpoll
import Glibc

public struct EdgeServerError: Error, CustomStringConvertible, Sendable {
    /// `invalidAddress`, `addressInUse` or `system`.
    public let code: String
    public let operation: String
    public let errno: Int32
    public var description: String { "\(operation): \(code), errno \(errno)" }
}

/// Numeric addresses, to and from the system's form.
enum SocketAddress {
    static func text(_ storage: sockaddr_storage) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            var storage = storage
            return withUnsafePointer(to: &storage) { pointer in
                switch Int32(pointer.pointee.ss_family) {
                case AF_INET:
                    pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                        var host = address.pointee.sin_addr
                        inet_ntop(AF_INET, &host, buffer.baseAddress, socklen_t(buffer.count))
                    }
                case AF_INET6:
                    pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                        var host = address.pointee.sin6_addr
                        inet_ntop(AF_INET6, &host, buffer.baseAddress, socklen_t(buffer.count))
                    }
                default: return ""
                }
                return String(cString: buffer.baseAddress!)
            }
        }
    }

    static func parse(host: String, port: Int) throws(EdgeServerError) -> (storage: sockaddr_storage, length: socklen_t) {
        var storage = sockaddr_storage()
        guard let port = UInt16(exactly: port) else {
            throw EdgeServerError(code: "invalidAddress", operation: "parse", errno: 0)
        }
        var four = sockaddr_in()
        var six = sockaddr_in6()
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: four) { target.copyMemory(from: $0) } }
            return (storage, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: six) { target.copyMemory(from: $0) } }
            return (storage, socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
        throw EdgeServerError(code: "invalidAddress", operation: "parse", errno: 0)
    }

    /// A bound and listening socket, and its port.
    /// - Parameter shared: whether further sockets of this process listen on the same port (SO_REUSEPORT).
    static func listen(host: String, port: Int, backlog: Int32, shared: Bool) throws(EdgeServerError) -> (descriptor: Int32, port: Int) {
        var (storage, length) = try parse(host: host, port: port)
        let descriptor = roost_tcp_socket(Int32(storage.ss_family))
        guard descriptor >= 0 else { throw EdgeServerError(code: "system", operation: "socket", errno: errno) }
        _ = roost_set_option(descriptor, Int32(ROOST_SOL_SOCKET), Int32(ROOST_SO_REUSEADDR), 1)
        if shared { _ = roost_set_option(descriptor, Int32(ROOST_SOL_SOCKET), Int32(ROOST_SO_REUSEPORT), 1) }
        let bound = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Bool in
                guard bind(descriptor, address, length) == 0, Glibc.listen(descriptor, backlog) == 0 else { return false }
                return getsockname(descriptor, address, &length) == 0
            }
        }
        guard bound else {
            let reason = errno
            close(descriptor)
            throw EdgeServerError(code: reason == EADDRINUSE ? "addressInUse" : "system", operation: "listen", errno: reason)
        }
        let chosen = withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
        return (descriptor, Int(chosen))
    }
}
