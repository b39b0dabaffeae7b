-- Groups and channels, and what people do to messages beside sending them.

-- Files that messages, profiles and conversations refer to.
CREATE TABLE media (
    id           uuid PRIMARY KEY,
    owner_id     uuid NOT NULL,
    -- 0 processing, 1 ready, 2 rejected.
    state        smallint NOT NULL,
    -- 0 image, 1 audio, 2 video, 3 file.
    kind         smallint NOT NULL,
    content_type text NOT NULL,
    file_name    text,
    bytes        bigint NOT NULL,
    width        int,
    height       int,
    duration     float8,
    blur_hash    text,
    created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX media_owner ON media (owner_id);

ALTER TABLE conversations
    ADD COLUMN about          text,
    ADD COLUMN photo_media_id uuid,
    -- 0 full, 1 since joining.
    ADD COLUMN history        smallint NOT NULL DEFAULT 0,
    -- The title as channels are searched by: lower case, without accents.
    ADD COLUMN folded_title   text COLLATE "C",
    -- Members, for channels, which are too large to be counted each time.
    ADD COLUMN member_count   int NOT NULL DEFAULT 0,
    -- Changes up to here are in message_words.
    ADD COLUMN searchable_seq bigint NOT NULL DEFAULT 0;

CREATE INDEX conversations_channels ON conversations (folded_title, id) WHERE kind = 2;

-- A channel's title from each of its words on, folded.
CREATE TABLE channel_words (
    folded          text COLLATE "C" NOT NULL,
    conversation_id uuid NOT NULL,
    PRIMARY KEY (folded, conversation_id)
);

ALTER TABLE members
    -- The counter's value that made them a member.
    ADD COLUMN since_seq      bigint NOT NULL DEFAULT 0,
    ADD COLUMN muted_until    timestamptz,
    ADD COLUMN pinned_at      timestamptz,
    ADD COLUMN pin_changed_at timestamptz,
    ADD COLUMN archived_at    timestamptz,
    -- The counter when it was archived.
    ADD COLUMN archived_seq   bigint;

-- Who was a member once and is not now, for sync.
CREATE TABLE departures (
    user_id         uuid NOT NULL,
    conversation_id uuid NOT NULL,
    changed_xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (user_id, conversation_id)
);

ALTER TABLE messages
    -- Of the body as it was sent: tells a repetition from another message.
    ADD COLUMN fingerprint  bigint NOT NULL DEFAULT 0,
    ADD COLUMN reply_to     bigint,
    ADD COLUMN media_id     uuid,
    ADD COLUMN is_forwarded boolean NOT NULL DEFAULT false,
    ADD COLUMN mentions     uuid[],
    -- What a system message tells, as the contract has it.
    ADD COLUMN system       jsonb,
    -- Null for system messages, which no client named.
    ALTER COLUMN client_id DROP NOT NULL;

-- To find what a deletion must erase of media.
CREATE INDEX messages_media ON messages (media_id) WHERE media_id IS NOT NULL;

CREATE TABLE reactions (
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    emoji           text COLLATE "C" NOT NULL,
    user_id         uuid NOT NULL,
    at              timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, seq, emoji, user_id)
);

CREATE INDEX reactions_user ON reactions (user_id);

-- Messages that mention a member, to count those unread.
CREATE TABLE mentions (
    conversation_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    seq             bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id, seq)
);

-- Messages that a member deleted for themselves.
CREATE TABLE hidden (
    conversation_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    seq             bigint NOT NULL,
    changed_xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (conversation_id, user_id, seq)
);

CREATE INDEX hidden_message ON hidden (conversation_id, seq);

-- Between the two of a pair no direct message passes.
CREATE TABLE blocks (
    blocker_id uuid NOT NULL,
    blocked_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (blocker_id, blocked_id)
);

CREATE INDEX blocks_blocked ON blocks (blocked_id);

-- What messages can be found by.
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE TABLE message_words (
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    words           tsvector NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

CREATE INDEX message_words_words ON message_words USING gin (conversation_id, words);
