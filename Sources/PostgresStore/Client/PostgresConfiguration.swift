import Runtime

/// Where the database is, and the bounds of every connection to it.
public struct PostgresConfiguration: Sendable {
    /// A libpq URL or conninfo string. It may hold a password and is never logged.
    public var url: String
    /// Shown in `pg_stat_activity`.
    public var applicationName = "roost"
    /// The server ends a statement that runs longer, so that what a lost connection left behind ends too.
    public var statementTimeout: Duration = .seconds(4)
    /// A connection whose oldest request is older is given up: the server, or the way to it, hangs. Longer than the above.
    public var requestTimeout: Duration = .seconds(5)
    public var connectTimeout: Duration = .seconds(3)
    /// Requests in flight on one connection; further ones fail with `unavailable`.
    public var pendingLimit = 1024
    /// Before the first attempt to connect again; doubled up to the maximum, each time ± half of it.
    public var minimumBackoff: Duration = .milliseconds(50)
    public var maximumBackoff: Duration = .seconds(1)
    /// Settings of the session beside those that every connection has, as in `-c name=value`.
    public var sessionSettings: [String] = []

    public init(url: String) { self.url = url }

    /// `ROOST_POSTGRES_URL`
    public static let urlSetting = Setting<String>.url(
        "ROOST_POSTGRES_URL", default: "postgresql://127.0.0.1/roost", schemes: ["postgresql", "postgres"],
        help: "the database, as a libpq URL")
    /// `ROOST_POSTGRES_CONNECTIONS`
    public static let connectionsSetting = Setting<Int>.int(
        "ROOST_POSTGRES_CONNECTIONS", default: 4, in: 1...64, help: "connections of a node beside one per journal lane")

    /// Every statement of the stores finds its rows by keys. Plans are made once, perhaps while the tables are still empty and before
    /// statistics exist, and must not turn into scans and hashes of whole tables when those have grown. Sorts stay allowed: without
    /// them a whole index is read for its order. To start parallel workers takes longer than any of the statements.
    static let byKeysOnly = [
        "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "max_parallel_workers_per_gather=0",
    ]

    var serverOptions: String {
        let settings =
            [
                "statement_timeout=\(statementTimeout.milliseconds)", "synchronous_commit=on", "client_min_messages=error",
                "default_transaction_isolation=read\\ committed", "timezone=UTC", "jit=off",
            ] + sessionSettings
        return settings.map { "-c \($0)" }.joined(separator: " ")
    }
}
