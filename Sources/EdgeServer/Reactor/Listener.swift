import CEpoll
import EventLoop
import Glibc

/// Accepts on one loop. Confined to it.
final class Listener: ReadinessHandler {
    private let descriptor: Int32
    private let edge: EdgeLoop
    private var isOpen = true

    /// - Parameter descriptor: a bound, listening, non-blocking socket, owned from here on.
    init(descriptor: Int32, edge: EdgeLoop) {
        self.descriptor = descriptor
        self.edge = edge
    }

    func start() throws(EventLoopError) { try edge.loop.watch(descriptor, .readable, handler: self) }

    func stop() {
        guard isOpen else { return }
        isOpen = false
        edge.loop.unwatch(descriptor)
        close(descriptor)
    }

    func ready(_ readiness: Readiness) {
        // A bound, so that a storm of connections does not starve those that are there.
        for _ in 0..<64 {
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let accepted = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { roost_accept(descriptor, $0, &length) }
            }
            if accepted < 0 {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: backOff()
                default: break
                }
                return
            }
            admit(accepted, address)
        }
    }

    private func admit(_ accepted: Int32, _ address: sockaddr_storage) {
        edge.counters.connectionsAccepted.bump()
        if edge.metrics.connectionsOpen >= edge.configuration.maxConnections {
            edge.counters.connectionsRefused.bump()
            close(accepted)
            return
        }
        _ = roost_set_option(accepted, Int32(ROOST_IPPROTO_TCP), Int32(ROOST_TCP_NODELAY), 1)
        let connection = HTTPConnection(descriptor: accepted, edge: edge, remoteAddress: SocketAddress.text(address))
        do {
            try edge.loop.watch(accepted, .readable, handler: connection)
            edge.add(connection)
        } catch {
            close(accepted)
        }
    }

    /// Without a descriptor to accept with, the listener stays readable: look again a little later instead of spinning.
    private func backOff() {
        edge.counters.acceptBackoffs.bump()
        edge.loop.unwatch(descriptor)
        edge.loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, self.isOpen else { return }
            do { try self.start() } catch { self.backOff() }
        }
    }
}
