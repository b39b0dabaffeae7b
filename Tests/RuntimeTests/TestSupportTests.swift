import TestSupport
import Testing

@Suite struct TestSupportTests {
    @Test func childrenEndWithTheirStatus() async throws {
        let failing = try ChildProcess(["sh", "-c", "exit 7"])
        #expect(await failing.waitForExit() == 7)
        #expect(!failing.isRunning)
        let killed = try ChildProcess(["sleep", "1000"])
        killed.signal(9)
        #expect(await killed.waitForExit() == 137)
        await #expect(throws: ChildProcessError.self) { try await ChildProcess.run(["false"]) }
    }

    @Test func postgresStartsAgainAfterAKill() async throws {
        let postgres = try await PostgresProcess.make(durable: false)
        let database = try await postgres.createDatabase()
        let psql = ["psql", "-X", "-v", "ON_ERROR_STOP=1", postgres.url(database: database), "-c"]
        try await ChildProcess.run(psql + ["create table kept (id int); insert into kept values (1)"])
        await postgres.kill()
        await #expect(throws: ChildProcessError.self) { try await ChildProcess.run(psql + ["select 1"]) }
        try await postgres.start()
        try await ChildProcess.run(psql + ["select 1 / count(*) from kept"])
        await postgres.remove()
    }
}
