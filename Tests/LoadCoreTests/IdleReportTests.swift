import Testing

@testable import LoadCore

@Suite struct IdleReportTests {
    private func node(_ sockets: Int, _ before: Int?, _ after: Int?) -> IdleReport.Node {
        IdleReport.Node(name: "n", sockets: sockets, before: before, withAccounts: before, after: after)
    }

    @Test func bytesAreCountedWhereMemoryIsKnown() {
        var report = IdleReport(clients: 40)
        report.nodes = [node(10, 1000, 2000), node(20, 0, 5000), node(10, nil, nil)]
        #expect(report.nodes[0].bytesPerSocket == 100)
        #expect(report.bytesPerSocket == 200)
        #expect(IdleReport(clients: 1).bytesPerSocket == nil)
    }

    @Test func itIsCleanWhenEverySocketStayed() {
        var report = IdleReport(clients: 2)
        report.alive = 2
        #expect(report.isClean)
        report.breaks = 1
        #expect(!report.isClean)
        report.breaks = 0
        report.alive = 1
        #expect(!report.isClean)
    }
}
