import Testing

@testable import LoadCore

@Suite struct FigureTests {
    @Test func medianAndSpread() {
        var figure = Figure(name: "sends", unit: "/s", values: [30, 10])
        #expect(figure.median == 20)
        figure.add(1000)
        #expect(figure.median == 30)
        #expect(figure.row == "| sends | 30.0 | 10.0…1,000 | /s |")
        #expect(Figure(name: "x", unit: "", values: []).row == "| x | – |  |  |")
    }

    @Test func figuresOfAnotherProgramAreReadBack() {
        let figures = [Figure(name: "a \"b\"", unit: "/s", values: [1, 2.5]), Figure(name: "c", unit: "ms")]
        let text = JSONText.object([("figures", .array(figures.map(\.json)))]).text
        #expect(Figure.read(json: text) == figures)
        #expect(Figure.read(json: "nonsense").isEmpty)
    }
}
