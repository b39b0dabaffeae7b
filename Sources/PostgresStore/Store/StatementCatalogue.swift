/// The statements of the stores by their names, for whoever asks the database for their plans.
package enum StatementCatalogue {
    /// Those that people's requests run, over a pool.
    package static let pooled = texts([
        ViewStatements.view, ViewStatements.firstPage, ViewStatements.laterPage, ViewStatements.allChannels,
        ViewStatements.channelSearch,
        SyncStatements.page, SyncStatements.removed,
        MessageStatements.history, MessageStatements.message, MessageStatements.changes, MessageStatements.others,
        MessageStatements.receipts, MessageStatements.counts, MessageStatements.media,
        MemberStatements.find, MemberStatements.isMember, MemberStatements.standing, MemberStatements.memberships,
        MemberStatements.page, MemberStatements.member, MemberStatements.changeSettings,
        SearchStatements.scope, SearchStatements.prepared, SearchStatements.unpreparedMessages, SearchStatements.unprepared,
        SearchStatements.unpreparedQuiet,
        SearchStatements.changed,
        AccountStatements.credentials, AccountStatements.users, AccountStatements.directory, AccountStatements.directorySearch,
        AccountStatements.visible, AccountStatements.userWithEmail, AccountStatements.members, AccountStatements.partners,
        AccountStatements.lastSeen, AccountStatements.recordLastSeen, AccountStatements.devices, AccountStatements.rotate,
        AccountStatements.revocations,
        ContactStatements.contacts, ContactStatements.contact, ContactStatements.blocks, ContactStatements.isBlocked,
        ContactStatements.blocked,
    ])

    /// Those of a journal lane.
    package static let journal = texts([
        JournalReads.load, JournalReads.stored, JournalReads.targets, JournalReads.recent,
        JournalStatements.commit([.messages, .positions, .marks]), JournalStatements.settle, JournalStatements.commitChanges,
    ])

    private static func texts(_ statements: [PostgresStatement]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: statements.map { ($0.name, $0.text) })
    }

    /// `SET` statements that make a session plan as those of the pool and of the journal do.
    package static let pooledSettings = session(PostgresConfiguration.byKeysOnly)
    package static let journalSettings = session(PostgresConfiguration.byKeysOnly + ["plan_cache_mode=force_generic_plan"])

    private static func session(_ settings: [String]) -> String {
        settings.map { setting in
            let parts = setting.split(separator: "=", maxSplits: 1)
            return "SET \(parts[0]) = \(parts[1])"
        }.joined(separator: "; ")
    }
}
