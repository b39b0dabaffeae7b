import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct MigratorTests {
    private func emptyDatabase() async throws -> String {
        let server = try await StoreWorld.server()
        return try await server.url(database: server.createDatabase())
    }

    private func directory(_ files: [String: String]) throws -> String {
        let path = try TemporaryDirectory.make("migrations")
        for (name, text) in files { try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8) }
        return path
    }

    private func code(_ body: () async throws -> Void) async -> MigrationError.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? MigrationError)?.code }
    }

    @Test func eachIsAppliedOnceHoweverManyRun() async throws {
        let url = try await emptyDatabase()
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 { group.addTask { try await Migrator.run(url: url, directory: StoreWorld.migrations) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let all = try FileManager.default.contentsOfDirectory(atPath: StoreWorld.migrations).sorted()
        #expect(all.count >= 4 && applied.sorted() == all)
        #expect(try await Migrator.run(url: url, directory: StoreWorld.migrations) == [])
    }

    @Test func faultsAreNamed() async throws {
        let url = try await emptyDatabase()
        let files = ["0001_a.sql": "CREATE TABLE a (x int);", "0003_c.sql": "CREATE TABLE c (x int);"]
        let good = try directory(files)
        #expect(try await Migrator.run(url: url, directory: good) == ["0001_a.sql", "0003_c.sql"])
        let changed = try directory(files.merging(["0001_a.sql": "CREATE TABLE a (y int);"]) { $1 })
        #expect(await code { _ = try await Migrator.run(url: url, directory: changed) } == .changed)
        let between = try directory(files.merging(["0002_b.sql": "SELECT 1"]) { $1 })
        #expect(await code { _ = try await Migrator.run(url: url, directory: between) } == .outOfOrder)
        // A failing file leaves nothing of itself, and can be mended.
        let failing = try directory(files.merging(["0004_d.sql": "CREATE TABLE d (x int); SELECT nonsense;"]) { $1 })
        #expect(await code { _ = try await Migrator.run(url: url, directory: failing) } == .failed)
        let mended = try directory(files.merging(["0004_d.sql": "CREATE TABLE d (x int)"]) { $1 })
        #expect(try await Migrator.run(url: url, directory: mended) == ["0004_d.sql"])
        // An older release beside it has nothing to do.
        #expect(try await Migrator.run(url: url, directory: good) == [])
        let other = try directory(["0001_a.sql": files["0001_a.sql"]!, "0005_e.sql": "SELECT 1"])
        #expect(await code { _ = try await Migrator.run(url: url, directory: other) } == .missingFile)
        let misnamed = try directory(["1_a'; DROP TABLE a.sql": "SELECT 1"])
        #expect(await code { _ = try await Migrator.run(url: url, directory: misnamed) } == .badName)
        #expect(await code { _ = try await Migrator.run(url: url, directory: "/nonexistent") } == .cannotRead)
        #expect(
            await code { _ = try await Migrator.run(url: "postgresql://postgres@127.0.0.1:1/none", directory: good) }
                == .cannotConnect)
        for path in [good, changed, between, failing, mended, other, misnamed] { await TemporaryDirectory.remove(path) }
    }
}
