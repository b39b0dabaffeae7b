import CEpoll
import Glibc

/// Numeric addresses, to and from the system's form.
public enum SocketAddress {
    public static func text(_ storage: sockaddr_storage) -> String {
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

    public static func parse(host: String, port: Int) throws(EventLoopError) -> (storage: sockaddr_storage, length: socklen_t) {
        var storage = sockaddr_storage()
        guard let port = UInt16(exactly: port) else {
            throw EventLoopError(operation: "parse address", errno: EINVAL)
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
        throw EventLoopError(operation: "parse address", errno: EINVAL)
    }

    /// A bound and listening socket, and its port.
    /// - Parameter shared: whether further sockets of this process listen on the same port (SO_REUSEPORT).
    public static func listen(host: String, port: Int, backlog: Int32, shared: Bool) throws(EventLoopError) -> (
        descriptor: Int32, port: Int
    ) {
        var (storage, length) = try parse(host: host, port: port)
        let descriptor = roost_tcp_socket(Int32(storage.ss_family))
        guard descriptor >= 0 else { throw EventLoopError(operation: "socket", errno: errno) }
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
            throw EventLoopError(operation: "listen", errno: reason)
        }
        let chosen = withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
        return (descriptor, Int(chosen))
    }

    /// A socket whose connection is under way; it becomes writable when that has ended, well or not (see ``connectError(_:)``).
    /// - Parameter source: the own address to connect from, for more sockets than one address has ports.
    public static func connect(host: String, port: Int, source: String?) throws(EventLoopError) -> Int32 {
        var (storage, length) = try parse(host: host, port: port)
        var own: (storage: sockaddr_storage, length: socklen_t)?
        if let source { own = try parse(host: source, port: 0) }
        let descriptor = roost_tcp_socket(Int32(storage.ss_family))
        guard descriptor >= 0 else { throw EventLoopError(operation: "socket", errno: errno) }
        _ = roost_set_option(descriptor, Int32(ROOST_IPPROTO_TCP), Int32(ROOST_TCP_NODELAY), 1)
        var reason: Int32 = 0
        if var own {
            // The port is chosen at connect, by the whole four-tuple.
            _ = roost_set_option(descriptor, Int32(ROOST_IPPROTO_IP), Int32(ROOST_IP_BIND_ADDRESS_NO_PORT), 1)
            let bound = withUnsafeMutablePointer(to: &own.storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, own.length) }
            }
            if bound != 0 { reason = errno }
        }
        if reason == 0 {
            let result = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, length) }
            }
            if result != 0 && errno != EINPROGRESS { reason = errno }
        }
        if reason != 0 {
            close(descriptor)
            throw EventLoopError(operation: "connect", errno: reason)
        }
        return descriptor
    }

    /// 0 once a connection stands, else why it does not.
    public static func connectError(_ descriptor: Int32) -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, Int32(ROOST_SOL_SOCKET), Int32(ROOST_SO_ERROR), &error, &length)
        return error
    }
}
