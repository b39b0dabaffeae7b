import ClusterMembership
import ConversationCore
import Gateway
import NATSBus
import Ports
import PostgresStore
import RoostModel
import Runtime

/// What a node is told: `roostd --help` lists it.
enum NodeSettings {
    static let nodeName = Setting<String>(
        "ROOST_NODE_NAME", default: "node1", allowed: "1 to 64 letters, digits, - and _",
        help: "this node's name, unique in the cluster and the same over restarts"
    ) { text in Subject.isToken(text) && text.utf8.count <= 64 ? text : nil }
    static let host = Setting<String>.string(
        "ROOST_HOST", default: "127.0.0.1", help: "the address that the public listener binds")
    static let port = Setting<Int>.port("ROOST_PORT", default: 8080, help: "the public port: HTTP API and WebSocket")
    static let url = Setting<String>.url(
        "ROOST_URL", default: nil, schemes: ["http", "https"],
        help: "how clients reach this node; from host and port where not given"
    ).optional
    static let adminHost = Setting<String>.string(
        "ROOST_ADMIN_HOST", default: "127.0.0.1", help: "the address that the admin listener binds")
    static let adminPort = Setting<Int>.port("ROOST_ADMIN_PORT", default: 0, help: "the admin port; 0 takes a free one")
    static let adminToken = Setting<String>.string(
        "ROOST_ADMIN_TOKEN", default: "", isSecret: true, help: "the operators' bearer token; none closes the admin API")
    static let edgeLoops = Setting<Int>.int(
        "ROOST_EDGE_LOOPS", default: 0, in: 0...64, help: "event loops that hold the clients' sockets; 0 is one for each core")
    static let lanes = Setting<Int>.int(
        "ROOST_LANES", default: 0, in: 0...16,
        help: "event loops that host actors, each with a journal connection; 0 is one for every two cores")
    static let testHooks = Setting<Bool>.bool(
        "ROOST_TEST_HOOKS", default: false, help: "allow tests to freeze this node's membership; never in production")

    static let autoRebalance = Setting<Bool>.bool(
        "ROOST_AUTO_REBALANCE", default: true,
        help: "let the cluster move shards by itself when one node has much more to do than the others")

    static let deleteWindow = Setting<Int>.int(
        "ROOST_DELETE_WINDOW_SECONDS", default: 86_400, in: 0...3_153_600_000,
        help: "how long a sender may delete a message for everyone")
    static let groupMembers = Setting<Int>.int(
        "ROOST_GROUP_MEMBERS", default: Limits.groupMembers, in: 2...1_000, help: "members of a group, at most")
    static let channelMembers = Setting<Int>.int(
        "ROOST_CHANNEL_MEMBERS", default: Limits.channelMembers, in: 2...100_000, help: "members of a channel, at most")

    static func rules(_ configuration: Configuration) -> ConversationRules {
        ConversationRules(
            deleteWindow: .seconds(configuration[deleteWindow]), groupMembers: configuration[groupMembers],
            channelMembers: configuration[channelMembers])
    }

    static let all: [any DeclaredSetting] =
        [
            nodeName, host, port, url, adminHost, adminPort, adminToken, edgeLoops, lanes, testHooks, autoRebalance,
            deleteWindow, groupMembers, channelMembers,
            PostgresConfiguration.urlSetting, PostgresConfiguration.connectionsSetting, NATSBusOptions.urlSetting,
        ] + NodeMail.settings + GatewaySettings.settings + RuntimeSettings.all

    static let version = "0.1.0"

    /// How clients reach this node.
    static func url(_ configuration: Configuration) -> String {
        configuration[url] ?? "http://\(configuration[host]):\(configuration[port])"
    }

    static func clusterOptions(_ configuration: Configuration, lanes: Int) -> ClusterNodeOptions {
        let url = url(configuration)
        var options = ClusterNodeOptions(
            name: configuration[nodeName], url: url, adminURL: "http://\(configuration[adminHost]):\(configuration[adminPort])",
            version: version, lanes: lanes)
        options.allowsTestHooks = configuration[testHooks]
        options.timings.balancesLoads = configuration[autoRebalance]
        return options
    }
}
