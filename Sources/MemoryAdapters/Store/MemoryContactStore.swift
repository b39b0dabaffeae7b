import Ports
import RoostModel

struct ContactKey: Hashable, Sendable {
    let owner: UserID
    let user: UserID
}

struct ContactRow: Sendable {
    let isByEmail: Bool
    var nickname: String?
    var photo: Media?
    let createdAt: Timestamp
}

/// The memory twin of contacts and blocks.
public struct MemoryContactStore: ContactStore {
    private let database: MemoryDatabase

    public init(_ database: MemoryDatabase) { self.database = database }

    public func contacts(of owner: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Contact> {
        let after = try AddedPosition(cursor, .contacts)
        return try database.read { tables in
            let all = tables.contacts.keys.filter { $0.owner == owner }.compactMap { tables.contact($0) }
            return Self.page(all, after, limit, .contacts) { ($0.createdAt, $0.user.id) }
        }
    }

    private static func page<Item>(
        _ all: [Item], _ after: AddedPosition?, _ limit: Int, _ kind: CursorKind,
        position: (Item) -> (Timestamp, UserID)
    ) -> Page<Item> {
        let rest = all.filter { item in after.map { position(item) > ($0.time, $0.id) } ?? true }
            .sorted { position($0) < position($1) }
        return AddedPosition.page(Array(rest.prefix(limit + 1)), limit: limit, kind, position: position)
    }

    public func addContact(_ contact: NewContact) async throws(StoreError) -> Contact? {
        try database.write { (tables) throws(StoreError) in
            guard tables.areLive(contact.owner, contact.user) else { return nil }
            let key = ContactKey(owner: contact.owner, user: contact.user)
            if tables.contacts[key] != nil { throw StoreError(.conflict, detail: "contact") }
            tables.contacts[key] = ContactRow(
                isByEmail: contact.isByEmail, nickname: contact.nickname, photo: contact.photo, createdAt: contact.createdAt)
            return tables.contact(key)
        }
    }

    public func changeContact(
        _ user: UserID, of owner: UserID, _ change: ContactChange
    ) async throws(StoreError) -> Contact? {
        try database.write { tables in
            let key = ContactKey(owner: owner, user: user)
            if let nickname = change.nickname { tables.contacts[key]?.nickname = nickname }
            if let photo = change.photo { tables.contacts[key]?.photo = photo }
            return tables.contact(key)
        }
    }

    public func removeContact(_ user: UserID, of owner: UserID) async throws(StoreError) -> Bool {
        try database.write { $0.contacts.removeValue(forKey: ContactKey(owner: owner, user: user)) != nil }
    }

    public func block(_ user: UserID, by blocker: UserID, at time: Timestamp) async throws(StoreError) {
        try database.write { tables in
            let key = ContactKey(owner: blocker, user: user)
            if tables.areLive(blocker, user), tables.blocks[key] == nil { tables.blocks[key] = time }
        }
    }

    public func unblock(_ user: UserID, by blocker: UserID) async throws(StoreError) {
        try database.write { $0.blocks[ContactKey(owner: blocker, user: user)] = nil }
    }

    public func blocks(by blocker: UserID, cursor: String?, limit: Int) async throws(StoreError) -> Page<Block> {
        let after = try AddedPosition(cursor, .blocks)
        return try database.read { tables in
            let all = tables.blocks.filter { $0.key.owner == blocker }.compactMap { key, time in
                tables.users[key.user].map { Block(user: $0.user, createdAt: time) }
            }
            return Self.page(all, after, limit, .blocks) { ($0.createdAt, $0.user.id) }
        }
    }

    public func blocks(_ user: UserID, by blocker: UserID) async throws(StoreError) -> Bool {
        try database.read { $0.blocks[ContactKey(owner: blocker, user: user)] != nil }
    }

    public func blocked(_ ids: [UserID], with user: UserID) async throws(StoreError) -> Set<UserID> {
        try database.read { tables in
            Set(
                ids.filter { id in
                    [ContactKey(owner: user, user: id), ContactKey(owner: id, user: user)]
                        .contains { tables.blocks[$0] != nil }
                })
        }
    }
}

extension MemoryTables {
    fileprivate func areLive(_ users: UserID...) -> Bool { users.allSatisfy { self.users[$0]?.user.isDeleted == false } }

    fileprivate func contact(_ key: ContactKey) -> Contact? {
        guard let row = contacts[key], let user = users[key.user]?.user else { return nil }
        return Contact(
            user: user, email: row.isByEmail ? user.email : nil, nickname: row.nickname, photo: row.photo,
            createdAt: row.createdAt)
    }
}
