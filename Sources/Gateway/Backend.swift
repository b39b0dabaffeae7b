import ConversationCore
import Ports
import RoostModel
import Runtime

/// The ports that routes and sessions stand on.
public struct Backend: Sendable {
    public let accounts: any AccountStore
    public let contacts: any ContactStore
    public let conversations: any ConversationStore
    public let commands: any ChatCommands
    public let presence: any PresenceQueries
    public let signals: any ClusterSignals
    /// As the actors go by them.
    public let rules: ConversationRules
    let logger: Logger
    /// A mail waits in the outbox: whoever sends it may look now.
    let mailQueued: @Sendable () -> Void

    public init(
        accounts: any AccountStore, contacts: any ContactStore, conversations: any ConversationStore, commands: any ChatCommands,
        presence: any PresenceQueries, signals: any ClusterSignals, rules: ConversationRules = ConversationRules(),
        logger: Logger,
        mailQueued: @escaping @Sendable () -> Void = {}
    ) {
        self.accounts = accounts
        self.contacts = contacts
        self.conversations = conversations
        self.commands = commands
        self.presence = presence
        self.signals = signals
        self.rules = rules
        self.logger = logger
        self.mailQueued = mailQueued
    }

    /// Asks a store; its errors become those that clients see.
    ///
    /// The question is untyped because the compiler does not infer a closure's type of error.
    func ask<Value>(_ question: () async throws -> Value) async throws(RoostError) -> Value {
        do {
            return try await question()
        } catch let error as StoreError {
            throw clientError(error)
        } catch {
            throw clientError(StoreError(.failed, detail: "not a store's error"))
        }
    }

    /// The one place where a store's error becomes a client's. What is a bug or damage is logged here.
    func clientError(_ error: StoreError) -> RoostError {
        switch error.code {
        case .unavailable, .fenced: return .unavailable
        case .badCursor: return RoostError(.badCursor)
        case .conflict: return RoostError(.conflict)
        case .failed:
            logger.error("a store failed", [.error: error])
            return RoostError(.internalError)
        }
    }
}
