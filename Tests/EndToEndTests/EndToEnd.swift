import Testing

/// Whole clusters: real PostgreSQL and NATS, processes, sockets. `cluster/test` runs them.
///
/// One after the other, since many of them kill nodes of the cluster that they share.
@Suite(.serialized, .enabled(if: Cluster.isEnabled, "these tests run through cluster/test"))
enum EndToEnd {}
