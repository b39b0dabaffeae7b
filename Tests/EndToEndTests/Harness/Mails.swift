import Foundation

/// The mails that a cluster without an SMTP server writes into files.
extension Cluster {
    /// The tokens of the links to `page` (`verify-email`, `reset-password`) in the mails to an address, oldest first, once there are
    /// `count` of them.
    func mailTokens(_ page: String, to address: String, count: Int, within limit: Duration = .seconds(20)) async throws
        -> [String]
    {
        let deadline = ContinuousClock.now + limit
        while true {
            let tokens = try mailTokens(page, to: address)
            if tokens.count >= count { return tokens }
            if ContinuousClock.now > deadline { throw Failure("\(tokens.count) mails of \(count) within \(limit): \(page)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Those that are there now.
    func mailTokens(_ page: String, to address: String) throws -> [String] {
        guard let directory = try file()["mailDirectory"].string else { throw Failure("no mailDirectory in cluster.json") }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return try names.filter { $0.hasSuffix(".eml") }.sorted().compactMap { name in
            let text = try String(contentsOf: URL(filePath: "\(directory)/\(name)"), encoding: .utf8)
            guard text.contains("To: \(address)") || text.contains("To: <\(address)>") else { return nil }
            // Quoted-printable (RFC 2045 §6.7): soft line breaks, and the equals sign.
            let plain = text.replacing("=\r\n", with: "").replacing("=\n", with: "").replacing("=3D", with: "=")
            guard let mark = plain.firstRange(of: "/\(page)?token=") else { return nil }
            return String(plain[mark.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        }
    }
}
