-- Conversations, members, messages.

CREATE TABLE conversations (
    id               uuid PRIMARY KEY,
    -- 0 direct, 1 group, 2 channel.
    kind             smallint NOT NULL,
    -- ShardID(of:) of the id, computed by the server.
    shard            smallint NOT NULL,
    -- The dirty mark: while set, the counter and the time of the newest message stand only in `messages`.
    is_active        boolean NOT NULL DEFAULT false,
    is_read_only     boolean NOT NULL DEFAULT false,
    title            text,
    -- The two of a direct conversation, the smaller id first.
    direct_low       uuid,
    direct_high      uuid,
    last_seq         bigint NOT NULL DEFAULT 0,
    last_activity_at timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    -- The transaction that last changed the row, for sync.
    changed_xid      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    CHECK ((kind = 0) = (direct_low IS NOT NULL AND direct_high IS NOT NULL)),
    CHECK (direct_low < direct_high)
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX conversations_direct ON conversations (direct_low, direct_high) WHERE direct_low IS NOT NULL;
CREATE INDEX conversations_active ON conversations (shard) WHERE is_active;

CREATE TABLE members (
    conversation_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    -- 0 admin, 1 member.
    role            smallint NOT NULL,
    joined_at       timestamptz NOT NULL,
    -- Change with every receipt: kept out of every index, so that the update stays within its page.
    read_seq        bigint NOT NULL DEFAULT 0,
    delivered_seq   bigint NOT NULL DEFAULT 0,
    changed_xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (conversation_id, user_id)
) WITH (fillfactor = 70);

CREATE INDEX members_user ON members (user_id);

-- When each member's positions reached what. Both only rise, so the order of the key is that of time.
CREATE TABLE positions (
    conversation_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    delivered_seq   bigint NOT NULL,
    read_seq        bigint NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, user_id, delivered_seq, read_seq)
);

-- The hot table: no foreign keys (each would lock a row of another table per message), two unique indexes, and a third that is
-- empty until a message is changed. Fixed-width columns first, so that no padding is stored.
CREATE TABLE messages (
    conversation_id uuid NOT NULL,
    sender_id       uuid NOT NULL,
    -- The counter's value at birth, and that of the latest change.
    seq             bigint NOT NULL,
    change_seq      bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    edited_at       timestamptz,
    deleted_at      timestamptz,
    -- 0 text, 1 image, 2 audio, 3 video, 4 file, 5 system.
    kind            smallint NOT NULL,
    client_id       text COLLATE "C" NOT NULL,
    text            text NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

-- What makes a send idempotent.
CREATE UNIQUE INDEX messages_client ON messages (conversation_id, sender_id, client_id);
-- Changes to older messages take their counter value here.
CREATE UNIQUE INDEX messages_changed ON messages (conversation_id, change_seq) WHERE change_seq > seq;

-- Whether a message was there for the snapshot that a list began with, at about `began`. A row's xmin is its birth only as long as
-- nobody changed it, and means nothing any more when it is very old: then its time decides.
-- The full id is the one within 2^31 of the snapshot's end whose low half is `born`.
CREATE FUNCTION message_was_visible(
    born xid, was_changed boolean, created_at timestamptz, began timestamptz, snapshot pg_snapshot
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN created_at < began - interval '1 hour' THEN true
        WHEN was_changed THEN created_at <= began
        ELSE pg_visible_in_snapshot((
            pg_snapshot_xmax(snapshot)::text::bigint - 2147483648
            + (born::text::bigint - pg_snapshot_xmax(snapshot)::text::bigint % 4294967296 + 6442450944) % 4294967296
        )::text::xid8, snapshot)
    END
$$;
