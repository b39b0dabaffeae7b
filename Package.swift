// swift-tools-version: 6.0
import PackageDescription

// Dependencies point one way: model → protocol and pure cores → ports → adapters → assembly → executables.
// docs/architecture.md has the picture.
let package = Package(
    name: "roost",
    products: [
        .executable(name: "roostd", targets: ["roostd"]),
        .executable(name: "roostctl", targets: ["roostctl"]),
        .executable(name: "roost-load", targets: ["roost-load"]),
        .library(name: "RoostClient", targets: ["RoostClient"]),
    ],
    targets: [
        // C libraries from Debian.
        .target(name: "CEpoll"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Values and wire types.
        .target(name: "RoostModel"),
        .target(name: "RoostProtocol", dependencies: ["RoostModel"]),

        // Pure state machines.
        .target(name: "ConversationCore", dependencies: ["RoostModel"]),
        .target(name: "ClusterCore", dependencies: ["RoostModel"]),
        .target(name: "EdgeCodec", dependencies: ["CZlib"]),

        // What long-lived parts run on, and the ports they speak to.
        .target(name: "Locks"),
        .target(name: "EventLoop", dependencies: ["CEpoll", "Locks"]),
        .target(name: "Runtime", dependencies: ["CEpoll", "EventLoop", "Locks"]),
        .target(name: "Ports", dependencies: ["RoostModel"]),

        // Adapters.
        .target(name: "MemoryAdapters", dependencies: ["EventLoop", "Ports", "RoostModel", "Runtime"]),
        .target(name: "NATSBus", dependencies: ["CNATS", "Ports", "Runtime"]),
        .target(
            name: "PostgresStore",
            dependencies: ["CPostgres", "CEpoll", "EventLoop", "Ports", "RoostModel", "RoostProtocol", "Runtime"]),
        .target(name: "Notifications", dependencies: ["CCurl", "Ports", "RoostModel", "Runtime"]),
        .target(name: "EdgeServer", dependencies: ["CEpoll", "EdgeCodec", "EventLoop", "Locks", "Runtime"]),

        // Assembly.
        .target(name: "ClusterMembership", dependencies: ["ClusterCore", "Ports", "RoostModel", "Runtime"]),
        .target(name: "ActorRuntime", dependencies: ["ClusterCore", "EventLoop", "Ports", "RoostModel", "Runtime"]),
        .target(
            name: "ChatActors",
            dependencies: [
                "ActorRuntime", "ClusterCore", "ConversationCore", "EventLoop", "Ports", "RoostModel", "RoostProtocol", "Runtime",
            ]),
        .target(
            name: "ClusterOperations",
            dependencies: ["ChatActors", "ClusterCore", "ClusterMembership", "Ports", "RoostModel"]),
        .target(
            name: "Gateway",
            dependencies: [
                "ActorRuntime", "ChatActors", "ClusterOperations", "ConversationCore", "CSodium", "EdgeCodec", "EdgeServer",
                "EventLoop", "Ports",
                "RoostModel",
                "RoostProtocol", "Runtime",
            ]),
        .target(
            name: "RoostClient", dependencies: ["CEpoll", "EdgeCodec", "EventLoop", "RoostModel", "RoostProtocol", "Runtime"]),

        // Executables.
        .executableTarget(
            name: "roostd",
            dependencies: [
                "ActorRuntime", "ChatActors", "ClusterCore", "ClusterMembership", "ClusterOperations", "ConversationCore",
                "EdgeServer", "EventLoop",
                "Gateway", "NATSBus", "Notifications", "Ports",
                "PostgresStore", "RoostModel", "Runtime",
            ]),
        .executableTarget(name: "roost-echo", dependencies: ["EdgeServer", "EventLoop", "RoostClient"]),
        .target(
            name: "OperatorTools", dependencies: ["EventLoop", "RoostClient", "RoostModel", "RoostProtocol"]),
        .executableTarget(
            name: "roostctl",
            dependencies: ["EventLoop", "LoadCore", "OperatorTools", "PostgresStore", "RoostClient", "RoostProtocol", "Runtime"]),
        .target(name: "LoadCore", dependencies: ["RoostModel", "RoostProtocol"]),
        .target(
            name: "StoreBench",
            dependencies: [
                "CPostgres", "EventLoop", "LoadCore", "Ports", "PostgresStore", "RoostModel", "RoostProtocol", "Runtime",
            ]),
        .executableTarget(
            name: "roost-bench-store",
            dependencies: ["EventLoop", "Ports", "PostgresStore", "RoostModel", "Runtime", "StoreBench"]),
        .executableTarget(
            name: "roost-load",
            dependencies: ["CEpoll", "EventLoop", "LoadCore", "RoostClient", "RoostModel", "RoostProtocol", "Runtime"]),
        .executableTarget(name: "bench-floor", dependencies: ["CNATS", "CPostgres", "EventLoop", "LoadCore", "Runtime"]),

        // Clocks, and servers of their own, for tests.
        .target(
            name: "TestSupport", dependencies: ["EventLoop", "MemoryAdapters", "Ports", "RoostModel", "Runtime"],
            path: "Tests/TestSupport"),
        // What chats must do, and random operations that hold nodes to it.
        .target(
            name: "ChatModel",
            dependencies: [
                "ConversationCore", "EventLoop", "RoostClient", "RoostModel", "RoostProtocol", "Runtime", "TestSupport",
            ],
            path: "Tests/ChatModel"),

        // Fast tests, no I/O beyond loopback.
        .testTarget(name: "RoostModelTests", dependencies: ["RoostModel"]),
        .testTarget(name: "RoostProtocolTests", dependencies: ["RoostProtocol", "TestSupport"]),
        .testTarget(name: "ConversationCoreTests", dependencies: ["ConversationCore", "TestSupport"]),
        .testTarget(name: "ClusterCoreTests", dependencies: ["ClusterCore", "RoostModel", "TestSupport"]),
        .testTarget(name: "LoadCoreTests", dependencies: ["LoadCore", "RoostModel", "RoostProtocol"]),
        .testTarget(
            name: "LoadRunTests",
            dependencies: ["EdgeServer", "EventLoop", "LoadCore", "RoostClient", "RoostModel", "RoostProtocol", "roost-load"]),
        .testTarget(name: "EdgeCodecTests", dependencies: ["EdgeCodec", "TestSupport"]),
        .testTarget(name: "EventLoopTests", dependencies: ["EventLoop"]),
        .testTarget(
            name: "NotificationsTests",
            dependencies: ["EventLoop", "MemoryAdapters", "Notifications", "Ports", "RoostModel", "Runtime", "TestSupport"]),
        .testTarget(name: "OperatorToolsTests", dependencies: ["OperatorTools", "RoostProtocol"]),
        .testTarget(name: "RuntimeTests", dependencies: ["Runtime", "TestSupport"]),
        .testTarget(name: "EdgeServerTests", dependencies: ["CEpoll", "EdgeServer", "EdgeCodec", "EventLoop", "RoostClient"]),
        .testTarget(
            name: "ChatActorsTests", dependencies: ["ChatActors", "ConversationCore", "EventLoop", "Ports", "RoostModel"]),
        .testTarget(
            name: "ActorRuntimeTests",
            dependencies: ["ActorRuntime", "MemoryAdapters", "ClusterCore", "EventLoop", "TestSupport"]),
        .testTarget(
            name: "ClusterMembershipTests",
            dependencies: ["ClusterMembership", "ClusterCore", "MemoryAdapters", "Ports", "RoostModel", "Runtime", "TestSupport"]),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Gateway", "ChatActors", "ActorRuntime", "ClusterOperations", "ConversationCore", "MemoryAdapters", "EdgeServer",
                "EventLoop", "RoostProtocol", "TestSupport",
            ]),

        .testTarget(
            name: "ClusterOperationsTests", dependencies: ["ClusterOperations", "RoostModel"]),

        // A whole node, or two, in one process: real sockets, memory behind.
        .testTarget(
            name: "NodeTests",
            dependencies: [
                "ActorRuntime", "ChatActors", "ChatModel", "ClusterCore", "EdgeServer", "EventLoop", "Gateway", "MemoryAdapters",
                "Ports",
                "RoostClient", "RoostModel", "RoostProtocol", "Runtime", "TestSupport",
            ]),

        // One suite against the memory twins and the real adapters.
        .testTarget(
            name: "PortContractTests",
            dependencies: [
                "EventLoop", "MemoryAdapters", "NATSBus", "Ports", "PostgresStore", "RoostModel", "Runtime", "StoreBench",
                "TestSupport",
            ]),

        // A whole cluster: real PostgreSQL, NATS, processes and sockets.
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["ChatModel", "EventLoop", "RoostClient", "RoostModel", "RoostProtocol", "Runtime", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
