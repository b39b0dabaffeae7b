import TestSupport
import Testing

extension EndToEnd {
    /// Who may do what: every route and operation that the contract has, tried by everyone who could try it.
    ///
    /// A cell is the status, and the code where it is not the plain one of that status (401 `unauthenticated`, 404 `notFound`); `-` is not
    /// tried. `{own}` is a message of the one who tries (another's where there is none), `{others}` one of somebody else; `{self}` and
    /// `{other}` are members, `{new}` is to become one.
    @Suite struct Rights {
        private static let group = """
                                                        admin         member        guest         blocked       former stranger suspended expired
            GET    /                                    200           200           200           200           404    404      401       401:tokenExpired
            PATCH  /                                    200           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            PATCH  /settings                            200           200           200           200           404    404      401       401:tokenExpired
            POST   /join                                200           200           200           200           404    404      401       401:tokenExpired
            GET    /members                             200           200           200           200           404    404      401       401:tokenExpired
            POST   /members                             200           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            PATCH  /members/{other}                     200           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            DELETE /members/{other}                     204           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            DELETE /members/{self}                      204           204           204           204           404    404      401       401:tokenExpired
            GET    /messages                            200           200           200           200           404    404      401       401:tokenExpired
            GET    /changes                             200           200           200           200           404    404      401       401:tokenExpired
            POST   /messages                            201           201           201           201           404    404      401       401:tokenExpired
            PATCH  /messages/{own}                      200           200           200           200           404    404      401       401:tokenExpired
            PATCH  /messages/{others}                   403:forbidden 403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            DELETE /messages/{own}?scope=everyone       200           200           200           200           404    404      401       401:tokenExpired
            DELETE /messages/{others}?scope=everyone    200           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            DELETE /messages/{others}?scope=me          204           204           204           204           404    404      401       401:tokenExpired
            PUT    /messages/{others}/reactions/👍      200           200           200           200           404    404      401       401:tokenExpired
            DELETE /messages/{others}/reactions/👍      200           200           200           200           404    404      401       401:tokenExpired
            GET    /messages/{own}/receipts             200           200           200           200           404    404      401       401:tokenExpired
            GET    /messages/{others}/receipts          200           200           200           200           404    404      401       401:tokenExpired
            POST   /read                                200           200           200           200           404    404      401       401:tokenExpired
            POST   /delivered                           200           200           200           200           404    404      401       401:tokenExpired
            GET    search                               200           200           200           200           404    404      401       401:tokenExpired
            OP     send                                 200           200           200           200           404    404      -         -
            OP     read                                 200           200           200           200           404    404      -         -
            OP     delivered                            200           200           200           200           404    404      -         -
            OP     typing                               200           200           200           200           404    404      -         -
            DELETE /                                    204           403:forbidden 403:forbidden 403:forbidden 404    404      401       401:tokenExpired
            """

        /// Anyone finds a channel and may join it; nothing else.
        private static let channel = """
                                                        admin         member        guest         blocked       former        stranger      suspended expired
            GET    /                                    200           200           200           200           200           200           401       401:tokenExpired
            PATCH  /                                    200           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            PATCH  /settings                            200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            POST   /join                                200           200           200           200           200           200           401       401:tokenExpired
            GET    /members                             200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            POST   /members                             200           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            PATCH  /members/{other}                     200           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            DELETE /members/{other}                     204           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            DELETE /members/{self}                      204           204           204           204           403:notMember 403:notMember 401       401:tokenExpired
            GET    /messages                            200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            GET    /changes                             200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            POST   /messages                            201           201           201           201           403:notMember 403:notMember 401       401:tokenExpired
            PATCH  /messages/{own}                      200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            PATCH  /messages/{others}                   403:forbidden 403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            DELETE /messages/{own}?scope=everyone       200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            DELETE /messages/{others}?scope=everyone    200           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            DELETE /messages/{others}?scope=me          204           204           204           204           403:notMember 403:notMember 401       401:tokenExpired
            PUT    /messages/{others}/reactions/👍      200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            DELETE /messages/{others}/reactions/👍      200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            GET    /messages/{own}/receipts             200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            GET    /messages/{others}/receipts          200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            POST   /read                                200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            POST   /delivered                           200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            GET    search                               200           200           200           200           403:notMember 403:notMember 401       401:tokenExpired
            OP     send                                 200           200           200           200           403:notMember 403:notMember -         -
            OP     read                                 200           200           200           200           403:notMember 403:notMember -         -
            OP     delivered                            200           200           200           200           403:notMember 403:notMember -         -
            OP     typing                               200           200           200           200           403:notMember 403:notMember -         -
            DELETE /                                    204           403:forbidden 403:forbidden 403:forbidden 403:notMember 403:notMember 401       401:tokenExpired
            """

        /// The blocked one, the one who blocked, and one whose partner deleted their account (orphan).
        private static let direct = """
                                                        member        guest         blocked       blocker       orphan        stranger suspended expired
            GET    /                                    200           200           200           200           200           404      401       401:tokenExpired
            PATCH  /                                    422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            PATCH  /settings                            200           200           200           200           200           404      401       401:tokenExpired
            POST   /join                                422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            GET    /members                             200           200           200           200           200           404      401       401:tokenExpired
            POST   /members                             422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            PATCH  /members/{other}                     422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            DELETE /members/{other}                     422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            DELETE /members/{self}                      422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            GET    /messages                            200           200           200           200           200           404      401       401:tokenExpired
            GET    /changes                             200           200           200           200           200           404      401       401:tokenExpired
            POST   /messages                            201           201           403:blocked   403:blocked   403:readOnly  404      401       401:tokenExpired
            PATCH  /messages/{own}                      200           200           403:blocked   403:blocked   403:readOnly  404      401       401:tokenExpired
            PATCH  /messages/{others}                   403:forbidden 403:forbidden 403:forbidden 403:forbidden 403:forbidden 404      401       401:tokenExpired
            DELETE /messages/{own}?scope=everyone       200           200           200           200           200           404      401       401:tokenExpired
            DELETE /messages/{others}?scope=everyone    403:forbidden 403:forbidden 403:forbidden 403:forbidden 403:forbidden 404      401       401:tokenExpired
            PUT    /messages/{others}/reactions/👍      200           200           403:blocked   403:blocked   403:readOnly  404      401       401:tokenExpired
            DELETE /messages/{others}/reactions/👍      200           200           403:blocked   403:blocked   403:readOnly  404      401       401:tokenExpired
            GET    /messages/{own}/receipts             200           200           200           200           200           404      401       401:tokenExpired
            GET    /messages/{others}/receipts          200           200           200           200           200           404      401       401:tokenExpired
            DELETE /messages/{others}?scope=me          204           204           204           204           204           404      401       401:tokenExpired
            POST   /read                                200           200           200           200           200           404      401       401:tokenExpired
            POST   /delivered                           200           200           200           200           200           404      401       401:tokenExpired
            GET    search                               200           200           200           200           200           404      401       401:tokenExpired
            OP     send                                 200           200           403:blocked   403:blocked   403:readOnly  404      -         -
            OP     read                                 200           200           200           200           200           404      -         -
            OP     delivered                            200           200           200           200           200           404      -         -
            OP     typing                               200           200           200           200           403:readOnly  404      -         -
            DELETE /                                    422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 422:notAGroup 404      401       401:tokenExpired
            """

        /// What is not about one conversation. `{id}` is somebody in the directory. Logging out, linking and changing the password are done by
        /// somebody new of that role.
        private static let elsewhere = """
                                                        user         guest               suspended expired          nobody
            GET    /v1/me                               200          200                 401       401:tokenExpired 401
            PATCH  /v1/me                               200          200                 401       401:tokenExpired 401
            GET    /v1/devices                          200          200                 401       401:tokenExpired 401
            GET    /v1/users                            200          200                 401       401:tokenExpired 401
            GET    /v1/users/{id}                       200          200                 401       401:tokenExpired 401
            GET    /v1/users/lookup?email={email}       200          200                 401       401:tokenExpired 401
            GET    /v1/presence?userIds={id}            200          200                 401       401:tokenExpired 401
            POST   /v1/contacts                         201          201                 401       401:tokenExpired 401
            GET    /v1/contacts                         200          200                 401       401:tokenExpired 401
            PATCH  /v1/contacts/{id}                    200          200                 401       401:tokenExpired 401
            DELETE /v1/contacts/{id}                    204          204                 401       401:tokenExpired 401
            PUT    /v1/blocks/{id}                      204          204                 401       401:tokenExpired 401
            GET    /v1/blocks                           200          200                 401       401:tokenExpired 401
            DELETE /v1/blocks/{id}                      204          204                 401       401:tokenExpired 401
            GET    /v1/conversations                    200          200                 401       401:tokenExpired 401
            GET    /v1/channels                         200          200                 401       401:tokenExpired 401
            GET    /v1/search/messages?query=x          200          200                 401       401:tokenExpired 401
            GET    /v1/sync                             200          200                 401       401:tokenExpired 401
            POST   /v1/conversations#direct             201          201                 401       401:tokenExpired 401
            POST   /v1/conversations#group              201          403:guestNotAllowed 401       401:tokenExpired 401
            POST   /v1/conversations#channel            201          403:guestNotAllowed 401       401:tokenExpired 401
            GET    /v1/me/export                        200          200                 401       401:tokenExpired 401
            DELETE /v1/devices/{id}                     404          404                 401       401:tokenExpired 401
            PUT    /v1/devices/current/push             204          204                 401       401:tokenExpired 401
            DELETE /v1/devices/current/push             204          204                 401       401:tokenExpired 401
            POST   /v1/auth/link                        409:conflict 200                 401       401:tokenExpired 401
            POST   /v1/auth/password/change             204          403:guestNotAllowed 401       401:tokenExpired 401
            POST   /v1/auth/email/resend                204          403:guestNotAllowed 401       401:tokenExpired 401
            POST   /v1/auth/logout                      204          204                 401       401:tokenExpired 401
            DELETE /v1/me                               204          204                 401       401:tokenExpired 401
            """

        @Test func everyRouteIsInTheTable() async throws {
            let document = try await HTTP.call("GET", Cluster.shared().url(2), "/openapi.json").expect(200).json
            let rows = RightsTable(Self.group).rows.map(\.route) + RightsTable(Self.elsewhere).rows.map(\.route)
            for table in [Self.channel, Self.direct] {
                #expect(Set(RightsTable(table).rows.map(\.route)) == Set(RightsTable(Self.group).rows.map(\.route)))
            }
            var guarded: Set<String> = []
            for (path, operations) in document["paths"].members where path.hasPrefix("/v1/") {
                for (method, operation) in operations.members where !operation["security"].isNull {
                    guarded.insert("\(method.uppercased()) \(RightsTable.withoutNames(path))")
                }
            }
            #expect(guarded.symmetricDifference(rows.filter { !$0.hasPrefix("OP ") }) == [])
        }

        @Test func everyoneMayDoWhatTheTableSaysAndNothingElse() async throws {
            let world = try await RightsWorld()
            for (name, table, scene) in [
                ("group", Self.group, RightsWorld.groupScene), ("channel", Self.channel, RightsWorld.channelScene),
                ("direct", Self.direct, RightsWorld.directScene),
            ] {
                var wrong: [String] = []
                for row in RightsTable(table).rows {
                    let places = try await scene(world)()
                    // From the right, so that those who may are last: what they do cannot be undone.
                    for (role, expected) in row.cells.reversed() where expected != "-" {
                        let place = try #require(places[role])
                        let answer = try await world.attempt(row, by: role, place)
                        if answer != expected { wrong.append("\(row.method) \(row.path), \(role): \(answer), not \(expected)") }
                    }
                }
                #expect(wrong == [], "in a \(name)")
            }

            var wrong: [String] = []
            for row in RightsTable(Self.elsewhere).rows {
                for (role, expected) in row.cells {
                    let answer = try await world.attemptElsewhere(row, by: role)
                    if answer != expected { wrong.append("\(row.method) \(row.path), \(role): \(answer), not \(expected)") }
                }
            }
            #expect(wrong == [])
            try await world.end()
        }
    }
}
