import LoadCore

struct FloorOptions {
    var postgres = ""
    var nats = ""
    var seconds: Double = 3
    var repetitions = 3
    var jsonFile: String?

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Nil for a call for help.
    static func parse(_ arguments: [String]) -> Result<FloorOptions?, Fault> {
        var options = FloorOptions()
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            if flag == "--help" || flag == "-h" { return .success(nil) }
            guard let value = rest.popFirst() else { return .failure(Fault(description: "\(flag) needs a value")) }
            switch flag {
            case "--postgres": options.postgres = value
            case "--nats": options.nats = value
            case "--json": options.jsonFile = value
            case "--seconds":
                guard let seconds = Double(value), seconds > 0, seconds <= 600 else {
                    return .failure(Fault(description: "--seconds must be a number up to 600"))
                }
                options.seconds = seconds
            case "--repetitions":
                guard let count = Int(value), (1...100).contains(count) else {
                    return .failure(Fault(description: "--repetitions must be a whole number from 1 to 100"))
                }
                options.repetitions = count
            default: return .failure(Fault(description: "unknown option \(flag)"))
            }
        }
        guard !options.postgres.isEmpty, !options.nats.isEmpty else {
            return .failure(Fault(description: "--postgres and --nats are needed"))
        }
        return .success(options)
    }
}

/// Runs every measurement, all of one round before the next, so that a disturbance does not fall on one kind alone.
struct Floor {
    let options: FloorOptions

    init(_ options: FloorOptions) { self.options = options }

    func measure() throws -> [Figure] {
        let inserts = [
            InsertFloor(rows: 1, connections: 1), InsertFloor(rows: 100, connections: 1), InsertFloor(rows: 100, connections: 4),
        ]
        var figures = inserts.map { Figure(name: $0.name, unit: "rows/s") }
        figures.append(Figure(name: "plain NATS, 128 B published and delivered", unit: "messages/s"))
        figures.append(Figure(name: "plain NATS, 128 B at 1,000/s, p50", unit: "µs"))
        figures.append(Figure(name: "plain NATS, 128 B at 1,000/s, p99", unit: "µs"))
        for _ in 0..<options.repetitions {
            for (index, insert) in inserts.enumerated() {
                figures[index].add(try insert.run(url: options.postgres, seconds: options.seconds))
            }
            let nats = try NATSFloor(url: options.nats)
            figures[inserts.count].add(try nats.throughput(seconds: options.seconds))
            let paced = try nats.paced(rate: 1000, seconds: options.seconds)
            figures[inserts.count + 1].add(Double(paced.value(at: 0.5)))
            figures[inserts.count + 2].add(Double(paced.value(at: 0.99)))
        }
        return figures
    }
}
