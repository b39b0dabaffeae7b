import EventLoop

/// Runs `body` on a thread made for it: for a call that blocks now and then, such as a connect or a close.
public func onOwnThread<Value: Sendable>(_ name: String, _ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        LoopThread().start(name: name) { continuation.resume(returning: body()) }
    }
}
