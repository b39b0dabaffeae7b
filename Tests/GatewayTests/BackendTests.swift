import EventLoop
import MemoryAdapters
import Ports
import RoostModel
import Runtime
import Testing

@testable import Gateway

@Suite struct BackendTests {
    @Test func storeErrorsBecomeClientErrorsInOnePlace() async throws {
        let lines = Locked<[String]>([])
        let logger = Logger(label: "test", output: LogOutput { line in lines.withLock { $0.append(line) } })
        let database = MemoryDatabase()
        let loop = try EventLoop(name: "lane")
        let backend = Backend(
            accounts: MemoryAccountStore(database), contacts: MemoryContactStore(database),
            conversations: MemoryConversationStore(database),
            commands: JournalCommands(database, loop: loop, fence: JournalFence(incarnation: .make(), lane: 0)),
            presence: FakePresence(), signals: FakeSignals(), logger: logger)
        let expected: [(StoreError.Code, ErrorCode)] = [
            (.unavailable, .unavailable), (.fenced, .unavailable), (.badCursor, .badCursor), (.conflict, .conflict),
        ]
        for (code, clientCode) in expected { #expect(backend.clientError(StoreError(code)).code == clientCode) }
        #expect(lines.withLock { $0.isEmpty })
        let bug = backend.clientError(StoreError(.failed, detail: "relation is gone"))
        #expect(bug == RoostError(.internalError), "nothing of the database is told to clients")
        #expect(lines.withLock { $0.count == 1 && $0[0].contains("relation is gone") })
    }
}
