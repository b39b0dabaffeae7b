import RoostProtocol
import Testing

@testable import OperatorTools

@Suite struct OperatorToolsTests {
    @Test func optionsStandAnywhere() throws {
        let invocation = try Invocation.parse(["drain", "--timeout", "60", "node3", "--dry-run", "--as=ann"])
        #expect(invocation.words == ["drain", "node3"])
        #expect(invocation.options == ["timeout": "60", "dry-run": "", "as": "ann"])
        #expect(try invocation.number("timeout", in: 1...100) == 60)
        #expect(throws: UsageFault.self) { try invocation.number("timeout", in: 1...59) }
        #expect(try Invocation.parse(["-h"]).has("help"))
        for wrong in [["--nonsense"], ["--timeout"], ["--json=yes"], ["x", "--limit"]] {
            #expect(throws: UsageFault.self) { try Invocation.parse(wrong) }
        }
    }

    @Test func columnsLineUp() {
        var table = Table(("NAME", .left), ("COUNT", .right), ("STATE", .left))
        table.add("a", "1", "up")
        table.add("longer", "1000", "dead")
        #expect(
            table.text(Style(isColoured: false)) == """
                NAME    COUNT  STATE
                a           1  up
                longer   1000  dead

                """)
        #expect(table.text(Style(isColoured: true)).contains("\u{1B}[31mdead\u{1B}[0m"))
        #expect(Style(isColoured: true).state("node1") == "node1")
    }

    @Test func figuresAreForPeople() {
        #expect(Figures.bytes(nil) == "-" && Figures.bytes(1000) == "1000 B" && Figures.bytes(41_725_952) == "39.8 MiB")
        #expect(Figures.decimals(1.25, 1) == "1.3" && Figures.decimals(2, 0) == "2" && Figures.decimals(-0.5, 1) == "-0.5")
        #expect(Figures.bar(0, of: 0, width: 4) == "#### 100 %" && Figures.bar(1, of: 2, width: 4) == "##--  50 %")
        #expect(Figures.bar(9, of: 2, width: 4) == "#### 100 %")
    }

    @Test func operationsAreTold() throws {
        let json = #"""
            {"id":"i","kind":"drain","state":"failed","reason":"timeout","movesPlanned":4,"movesDone":1,"movesFailed":2,
            "longestPauseMilliseconds":3.25,"blockedBy":["no other node is open"]}
            """#
        let operation = try JSONValue(Array(json.utf8))
        #expect(
            ClusterCommands.summary(operation, Style(isColoured: false))
                == "drain i failed: 1 of 4 moves, 2 not possible, longest pause 3.3 ms (timeout)\n  blocked: no other node is open"
        )
        #expect(ClusterCommands.progressLine(operation).contains("1/4  blocked: no other node is open"))
    }

    @Test func addressesAndPathsAreChecked() throws {
        #expect(try ClusterCommands.address("conversation/0a-b") == "conversation/0a-b")
        #expect(try ClusterCommands.address("presence/a b") == "presence/a%20b")
        for wrong in ["conversation", "cat/1", "conversation/", "conversation/1/2", ""] {
            #expect(throws: UsageFault.self) { try ClusterCommands.address(wrong) }
        }
        #expect(ClusterCommands.escape("é/?&") == "%C3%A9%2F%3F%26")
    }

    @Test func everyCommandIsInTheHelpAndTheCompletions() throws {
        for entry in CommandList.all {
            #expect(CommandList.usage.contains("  \(entry.words)"))
            for shell in ["bash", "zsh", "fish"] {
                let script = try #require(CommandList.completion(shell))
                #expect(script.contains(String(entry.words.split(separator: " ").last!)), "\(shell): \(entry.words)")
            }
        }
        #expect(CommandList.completion("csh") == nil)
    }
}
