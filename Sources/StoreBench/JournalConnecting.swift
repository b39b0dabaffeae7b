import EventLoop
import PostgresStore

extension PostgresJournal {
    /// Starts on its loop, and returns once it is connected.
    public func connect(on loop: EventLoop) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [self] in
                onAvailability = { [self] isAvailable in
                    guard isAvailable else { return }
                    onAvailability = nil
                    continuation.resume()
                }
                start()
            }
        }
    }
}
