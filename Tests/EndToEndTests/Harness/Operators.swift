import Foundation
import TestSupport
import Testing

/// What operators ask of a cluster.
extension Cluster {
    func operate(_ method: String, _ path: String, _ body: JSON? = nil, node: Int = 1) async throws -> Answer {
        let token = try file()["adminToken"].string
        return try await HTTP.call(method, nodes()[node - 1].adminURL, "/admin/v1/\(path)", token: token, body: body)
    }

    func status(of name: String, node: Int = 1) async throws -> JSON {
        try await operate("GET", "nodes", node: node).expect(200).json["items"].items.first { $0["name"].string == name } ?? .null
    }

    /// Waits for the end of an operation.
    func end(of operation: JSON, within limit: Duration = .seconds(60), node: Int = 1) async throws -> JSON {
        let id = try #require(operation["id"].string)
        try await eventually("operation \(operation.text) ends", within: limit) {
            let state = try await operate("GET", "operations/\(id)", node: node).expect(200).json["state"].string
            return state != "running" && state != "paused"
        }
        return try await operate("GET", "operations/\(id)", node: node).expect(200).json
    }

    /// Waits until every node is in use, has its share, and nothing is under way: no operation, and no shard that moves.
    func rest(within limit: Duration = .seconds(60)) async throws {
        let nodes = try await operate("GET", "nodes").expect(200).json["items"].items
        for node in nodes where node["state"] != "up" {
            _ = try await operate("POST", "nodes/\(node["name"].string ?? "")/uncordon")
        }
        try await eventually("nothing is under way", within: limit) {
            // A node with less than half of an even share is about to be given it.
            let shares = try await ownedShards()
            guard nodes.allSatisfy({ shares[$0["name"].string ?? "", default: 0] * nodes.count * 2 > 1280 }) else { return false }
            return try await query(
                """
                SELECT (SELECT count(*) FROM operations WHERE ended_at IS NULL) + (SELECT count(*) FROM shards WHERE target IS NOT NULL)
                """)[0][0] == "0"
        }
    }

    /// The number of shards that each node owns, by name.
    func ownedShards() async throws -> [String: Int] {
        let rows = try await query(
            "SELECT n.name, count(*) FROM shards s JOIN cluster_nodes n ON n.incarnation = s.owner AND n.state = 'up' GROUP BY 1")
        return Dictionary(rows.map { ($0[0], Int($0[1]) ?? 0) }) { $1 }
    }
}
