import Foundation

/// Two guests on the first two nodes of the shared cluster, and their conversation.
func pair(on first: Int = 1, _ second: Int = 2) async throws -> (Person, Person, String) {
    let cluster = try await Cluster.shared()
    let alice = try await Person.guest("Alice", of: cluster, node: first)
    let bob = try await Person.guest("Bob", of: cluster, node: second)
    return (alice, bob, try await alice.chat(with: bob))
}

enum Limits {
    /// `cluster/chaos` asks for the long forms of the tests.
    static let isLong = ProcessInfo.processInfo.environment["ROOST_TEST_LONG"] != nil
}
