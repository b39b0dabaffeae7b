import Glibc

/// A structured log: constant messages, typed keys. Normal work logs nothing above `debug`.
///
/// ```swift
/// logger.info("lease renewed", [.node: name, .epoch: epoch])
/// ```
/// The fields are not evaluated when the level is off.
public struct Logger: Sendable {
    public let level: LogLevel
    private let format: LogFormat
    private let label: String
    private let bound: String
    private let now: WallClock
    private let output: LogOutput

    /// - Parameters:
    ///   - label: the part of the program: `bus`, `edge`.
    ///   - now: for the line's time.
    public init(
        label: String, level: LogLevel = .info, format: LogFormat = .text, output: LogOutput = .standardError,
        now: @escaping WallClock = systemWallClock
    ) {
        self.init(label: label, level: level, format: format, bound: "", output: output, now: now)
    }

    private init(label: String, level: LogLevel, format: LogFormat, bound: String, output: LogOutput, now: @escaping WallClock) {
        self.label = label
        self.level = level
        self.format = format
        self.bound = bound
        self.output = output
        self.now = now
    }

    /// Writes nothing, ever: for tests.
    public static let silent = Logger(label: "", level: .error, output: LogOutput { _ in })

    /// The logger of another part of the program.
    public func labelled(_ label: String) -> Logger {
        Logger(label: label, level: level, format: format, bound: bound, output: output, now: now)
    }

    /// A logger that adds `fields` to every line.
    public func with(_ fields: LogFields) -> Logger {
        var bound = bound
        LogLine.append(fields, format, to: &bound)
        return Logger(label: label, level: level, format: format, bound: bound, output: output, now: now)
    }

    @inlinable
    public func isOn(_ level: LogLevel) -> Bool { level >= self.level }

    @inlinable
    public func debug(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:]) {
        if isOn(.debug) { write(.debug, message, fields()) }
    }

    @inlinable
    public func info(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:]) {
        if isOn(.info) { write(.info, message, fields()) }
    }

    @inlinable
    public func warning(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:]) {
        if isOn(.warning) { write(.warning, message, fields()) }
    }

    @inlinable
    public func error(_ message: StaticString, _ fields: @autoclosure () -> LogFields = [:]) {
        if isOn(.error) { write(.error, message, fields()) }
    }

    @usableFromInline
    func write(_ level: LogLevel, _ message: StaticString, _ fields: LogFields) {
        output.write(
            LogLine.render(format, time: now(), level: level, label: label, message: message, bound: bound, fields: fields))
    }
}

/// Takes whole lines, one at a time, whatever thread they come from.
public struct LogOutput: Sendable {
    private let lock = Locked(())
    private let sink: @Sendable (String) -> Void

    public init(_ sink: @escaping @Sendable (_ line: String) -> Void) { self.sink = sink }

    /// One write(2) a line, so that lines of several processes on one descriptor do not mix. An error is not reported: where to?
    public init(descriptor: Int32) {
        self.init { line in
            var line = line
            line.withUTF8 { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                while !rest.isEmpty {
                    let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                    if count < 0 && errno == EINTR { continue }
                    if count <= 0 { return }
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
            }
        }
    }

    public static let standardError = LogOutput(descriptor: STDERR_FILENO)

    func write(_ line: String) { lock.withLock { _ in sink(line) } }
}
