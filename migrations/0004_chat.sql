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
-- Where there may be something to prepare for searching.
CREATE INDEX conversations_unprepared ON conversations (id) WHERE last_seq > searchable_seq;

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
    -- The transactions of the latest changes of pinned_at between null and not: tell what a list saw at its first page.
    ADD COLUMN pin_changes    xid8[],
    ADD COLUMN archived_at    timestamptz,
    -- The counter when it was archived: only what came after it can end the archiving.
    ADD COLUMN archived_seq   bigint NOT NULL DEFAULT 0;

-- The order of joining.
CREATE INDEX members_joined ON members (conversation_id, joined_at, since_seq, user_id);

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

CREATE INDEX mentions_message ON mentions (conversation_id, seq);

-- Messages that a member deleted for themselves. They outlast the membership.
CREATE TABLE hidden (
    conversation_id uuid NOT NULL,
    user_id         uuid NOT NULL,
    seq             bigint NOT NULL,
    changed_xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (conversation_id, user_id, seq)
);

CREATE INDEX hidden_message ON hidden (conversation_id, seq);
-- What sync has to tell.
CREATE INDEX hidden_user ON hidden (user_id, changed_xid);

-- Between the two of a pair no direct message passes.
CREATE TABLE blocks (
    blocker_id uuid NOT NULL,
    blocked_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (blocker_id, blocked_id)
);

CREATE INDEX blocks_blocked ON blocks (blocked_id);

-- What messages can be found by.
CREATE TABLE message_words (
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    -- Of the message: hits come newest first.
    created_at      timestamptz NOT NULL,
    -- Each word behind a mark of its conversation: so what begins with a few letters is looked for among the words of one conversation,
    -- and not among those of everyone.
    words           tsvector NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);

-- Without a list of what is still to be sorted in: a search of many conversations would read it for each.
CREATE INDEX message_words_words ON message_words USING gin (words) WITH (fastupdate = off);

-- Deleted conversations whose messages are still to be cleared away: there may be too many for one transaction.
CREATE TABLE erased_conversations (
    conversation_id uuid PRIMARY KEY
);

CREATE FUNCTION time_of(milliseconds bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamptz '1970-01-01 00:00:00+00' + milliseconds * interval '1 millisecond'
$$;

-- The greatest counter value among a conversation's messages, 0 without any.
CREATE FUNCTION stored_head(conversation uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT GREATEST(0,
        (SELECT h.seq FROM messages h WHERE h.conversation_id = conversation ORDER BY h.seq DESC LIMIT 1),
        (SELECT h.change_seq FROM messages h WHERE h.conversation_id = conversation AND h.change_seq > h.seq
            ORDER BY h.conversation_id DESC, h.change_seq DESC LIMIT 1))
$$;

-- Makes a group or channel with its first system message. False where a member does not exist: then nothing was made.
CREATE FUNCTION create_conversation(
    new_id uuid, new_kind smallint, new_shard smallint, creator uuid, others uuid[], new_title text, new_folded_title text,
    words text[], new_about text, new_photo uuid, new_history smallint, event jsonb, moment timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- An account that is being deleted waits, and then finds the conversation.
    PERFORM 1 FROM users WHERE id = ANY(creator || others) AND deleted_at IS NULL ORDER BY id FOR KEY SHARE;
    IF (SELECT count(*) FROM users WHERE id = ANY(creator || others) AND deleted_at IS NULL) <> 1 + cardinality(others) THEN
        RETURN false;
    END IF;
    INSERT INTO conversations (id, kind, shard, title, folded_title, about, photo_media_id, history, member_count, last_seq,
            last_activity_at, created_at)
        VALUES (new_id, new_kind, new_shard, new_title, CASE WHEN new_kind = 2 THEN new_folded_title END, new_about, new_photo,
            new_history, 1 + cardinality(others), 1, moment, moment);
    INSERT INTO members (conversation_id, user_id, role, joined_at) VALUES (new_id, creator, 0, moment);
    INSERT INTO members (conversation_id, user_id, role, joined_at) SELECT new_id, o.id, 1, moment FROM unnest(others) o(id);
    INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, kind, text, system)
        VALUES (new_id, creator, 1, 1, moment, 5, '', event);
    IF new_kind = 2 THEN
        INSERT INTO channel_words (folded, conversation_id) SELECT DISTINCT w, new_id FROM unnest(words) w;
    END IF;
    RETURN true;
END $$;

-- What changes a conversation's members, in order; the part of an entry of commit_changes.
CREATE FUNCTION change_members(conversation uuid, changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    change record;
    affected bigint;
    difference int := 0;
BEGIN
    FOR change IN
        SELECT * FROM jsonb_to_recordset(changes)
            AS c(what text, "user" uuid, role smallint, at bigint, since bigint, read bigint)
    LOOP
        IF change.what = 'joined' THEN
            INSERT INTO members (conversation_id, user_id, role, joined_at, since_seq, read_seq, delivered_seq)
                VALUES (conversation, change."user", change.role, time_of(change.at), change.since, change.read, change.read)
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS affected = ROW_COUNT;
            difference := difference + affected;
            DELETE FROM departures WHERE user_id = change."user" AND conversation_id = conversation;
            -- To be told anew: a sync while they were away passed over it.
            UPDATE hidden SET changed_xid = pg_current_xact_id() WHERE conversation_id = conversation AND user_id = change."user";
        ELSIF change.what = 'left' THEN
            DELETE FROM members WHERE conversation_id = conversation AND user_id = change."user";
            GET DIAGNOSTICS affected = ROW_COUNT;
            CONTINUE WHEN affected = 0;
            difference := difference - 1;
            -- They would be those of a membership to come.
            DELETE FROM positions WHERE conversation_id = conversation AND user_id = change."user";
            INSERT INTO departures (user_id, conversation_id) VALUES (change."user", conversation)
                ON CONFLICT (user_id, conversation_id) DO UPDATE SET changed_xid = pg_current_xact_id();
        ELSE
            UPDATE members SET role = change.role, changed_xid = pg_current_xact_id()
                WHERE conversation_id = conversation AND user_id = change."user";
        END IF;
    END LOOP;
    UPDATE conversations SET member_count = member_count + difference, changed_xid = pg_current_xact_id() WHERE id = conversation;
END $$;

-- Only keys that are there are changed; null clears.
CREATE FUNCTION update_conversation(conversation uuid, change jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conversations SET changed_xid = pg_current_xact_id(),
        title = CASE WHEN change ? 'title' THEN change->>'title' ELSE title END,
        folded_title = CASE WHEN kind = 2 AND change ? 'title' THEN change->>'folded' ELSE folded_title END,
        about = CASE WHEN change ? 'about' THEN change->>'about' ELSE about END,
        photo_media_id = CASE WHEN change ? 'photo' THEN (change->>'photo')::uuid ELSE photo_media_id END,
        history = CASE WHEN change ? 'history' THEN (change->>'history')::smallint ELSE history END
        WHERE id = conversation;
    IF change ? 'title' AND EXISTS (SELECT FROM conversations WHERE id = conversation AND kind = 2) THEN
        DELETE FROM channel_words WHERE conversation_id = conversation;
        INSERT INTO channel_words (folded, conversation_id)
            SELECT DISTINCT w, conversation FROM jsonb_array_elements_text(change->'words') w;
    END IF;
END $$;

-- The conversation is gone for everyone; what it leaves is cleared away later. Until then a last row stands behind its messages,
-- changed by a value that nothing comes after: so no plain commit of an owner that has not heard of it finds its place.
CREATE FUNCTION erase_conversation(conversation uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO departures (user_id, conversation_id) SELECT user_id, conversation FROM members WHERE conversation_id = conversation
        ON CONFLICT (user_id, conversation_id) DO UPDATE SET changed_xid = pg_current_xact_id();
    DELETE FROM members WHERE conversation_id = conversation;
    DELETE FROM channel_words WHERE conversation_id = conversation;
    DELETE FROM conversations WHERE id = conversation;
    INSERT INTO erased_conversations VALUES (conversation);
    INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, deleted_at, kind, text)
        VALUES (conversation, conversation, 4611686018427387904, 4611686018427387905, now(), now(), 5, '');
END $$;

-- Commits entries of a journal batch that hold more than plain messages and positions, all in the transaction of the caller: without
-- subtransactions, because a snapshot does not list those that are under way, and lists tell by snapshots what they saw.
-- PostgresStore/Store/Journal/EntryJSON.swift writes the entries.
--
-- Answers an outcome for each entry: 0 committed, 1 conflict (nothing of the entry was stored); null where the fence is closed.
-- A conflict that only an index finds, and data that cannot be stored, end the statement with an error.
CREATE FUNCTION commit_changes(node uuid, lane_number smallint, entries text[]) RETURNS smallint[] LANGUAGE plpgsql AS $$
DECLARE
    outcomes smallint[] := '{}';
    entry_text text;
    entry jsonb;
    conversation uuid;
    first bigint;
    change record;
BEGIN
    PERFORM 1 FROM node_fences WHERE incarnation = node AND lane = lane_number AND is_open FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    FOREACH entry_text IN ARRAY entries LOOP
        entry := entry_text::jsonb;
        conversation := entry->>'id';
        first := entry->>'first';
        IF (entry->>'locks')::boolean THEN
            -- Before anything of it that others change too, and always first: so nobody waits in a circle.
            PERFORM 1 FROM conversations WHERE id = conversation FOR NO KEY UPDATE;
        ELSE
            PERFORM 1 FROM conversations WHERE id = conversation;
        END IF;
        IF NOT FOUND OR first IS NOT NULL AND (
            first <> 1 + stored_head(conversation)
            OR EXISTS (
                SELECT FROM jsonb_to_recordset(entry->'messages') AS m(sender uuid, client text)
                JOIN messages o ON o.conversation_id = conversation AND o.sender_id = m.sender
                    AND o.client_id = m.client COLLATE "C"))
        THEN
            outcomes := outcomes || CASE WHEN first IS NULL THEN 0 ELSE 1 END::smallint;
            CONTINUE;
        END IF;
        outcomes := outcomes || 0::smallint;
        IF (entry->>'deleted')::boolean THEN
            PERFORM erase_conversation(conversation);
            CONTINUE;
        END IF;

        IF entry ? 'messages' THEN
            INSERT INTO messages (conversation_id, sender_id, seq, change_seq, created_at, kind, client_id, text, fingerprint,
                    reply_to, media_id, is_forwarded, mentions, system)
                SELECT conversation, m.sender, m.seq, m.seq, time_of(m.at), m.kind, m.client, m.text, m.fingerprint, m.reply,
                    m.media, COALESCE(m.forwarded, false), m.mentions, m.system
                FROM jsonb_to_recordset(entry->'messages') AS m(sender uuid, seq bigint, at bigint, kind smallint, client text,
                    text text, fingerprint bigint, reply bigint, media uuid, forwarded boolean, mentions uuid[], system jsonb);
            INSERT INTO mentions (conversation_id, user_id, seq)
                SELECT conversation, u.id, m.seq
                FROM jsonb_to_recordset(entry->'messages') AS m(sender uuid, seq bigint, mentions uuid[]), unnest(m.mentions) u(id)
                WHERE u.id <> m.sender
                ON CONFLICT DO NOTHING;
        END IF;

        IF entry ? 'changed' THEN
            FOR change IN
                SELECT * FROM jsonb_to_recordset(entry->'changed')
                    AS c(seq bigint, change bigint, text text, edited bigint, deleted bigint)
            LOOP
                IF change.deleted IS NULL THEN
                    UPDATE messages SET change_seq = change.change, text = COALESCE(change.text, text),
                        edited_at = COALESCE(time_of(change.edited), edited_at)
                        WHERE conversation_id = conversation AND seq = change.seq;
                ELSE
                    UPDATE messages SET change_seq = change.change, text = '', deleted_at = time_of(change.deleted),
                        edited_at = COALESCE(time_of(change.edited), edited_at), media_id = NULL, reply_to = NULL, mentions = NULL
                        WHERE conversation_id = conversation AND seq = change.seq;
                    DELETE FROM reactions WHERE conversation_id = conversation AND seq = change.seq;
                    DELETE FROM mentions WHERE conversation_id = conversation AND seq = change.seq;
                    DELETE FROM message_words WHERE conversation_id = conversation AND seq = change.seq;
                END IF;
            END LOOP;
        END IF;

        -- Of one user's emoji on a message there is one change at most.
        IF entry ? 'reactions' THEN
            INSERT INTO reactions (conversation_id, seq, emoji, user_id, at)
                SELECT conversation, r.seq, r.emoji, r."user", time_of(r.at)
                FROM jsonb_to_recordset(entry->'reactions') AS r(seq bigint, "user" uuid, emoji text, put boolean, at bigint)
                WHERE r.put
                ON CONFLICT DO NOTHING;
            DELETE FROM reactions o
                USING jsonb_to_recordset(entry->'reactions') AS r(seq bigint, "user" uuid, emoji text, put boolean)
                WHERE NOT r.put AND o.conversation_id = conversation AND o.seq = r.seq AND o.emoji = r.emoji
                    AND o.user_id = r."user";
        END IF;

        IF entry ? 'hidden' THEN
            INSERT INTO hidden (conversation_id, user_id, seq)
                SELECT conversation, h."user", h.seq FROM jsonb_to_recordset(entry->'hidden') AS h(seq bigint, "user" uuid)
                ON CONFLICT DO NOTHING;
        END IF;
        IF entry ? 'members' THEN PERFORM change_members(conversation, entry->'members'); END IF;
        IF entry ? 'update' THEN PERFORM update_conversation(conversation, entry->'update'); END IF;

        IF entry ? 'positions' THEN
            WITH moved AS (
                UPDATE members m SET read_seq = GREATEST(m.read_seq, p.read),
                    delivered_seq = GREATEST(m.delivered_seq, p.delivered, p.read), changed_xid = pg_current_xact_id()
                FROM jsonb_to_recordset(entry->'positions') AS p("user" uuid, read bigint, delivered bigint, at bigint)
                WHERE m.conversation_id = conversation AND m.user_id = p."user"
                    AND (m.read_seq < p.read OR m.delivered_seq < GREATEST(p.delivered, p.read))
                RETURNING m.user_id, m.delivered_seq, m.read_seq, p.at
            )
            INSERT INTO positions (conversation_id, user_id, delivered_seq, read_seq, at)
                SELECT conversation, user_id, delivered_seq, read_seq, time_of(moved.at) FROM moved ON CONFLICT DO NOTHING;
        END IF;
        IF (entry->>'marks')::boolean THEN
            UPDATE conversations SET is_active = true, changed_xid = pg_current_xact_id()
                WHERE id = conversation AND NOT is_active;
        END IF;
    END LOOP;
    RETURN outcomes;
END $$;

-- Clears away up to `size` rows of one deleted conversation, its messages last. Answers whether there was anything to do.
CREATE FUNCTION clear_erased(size int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    erased uuid;
    cleared bigint;
    relation text;
BEGIN
    SELECT conversation_id INTO erased FROM erased_conversations LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN false; END IF;
    FOREACH relation IN ARRAY ARRAY['message_words', 'reactions', 'mentions', 'hidden', 'positions', 'messages'] LOOP
        EXECUTE format(
            'DELETE FROM %I WHERE ctid = ANY(ARRAY(SELECT ctid FROM %I WHERE conversation_id = $1 %s LIMIT $2))', relation, relation,
            CASE relation WHEN 'messages' THEN 'AND seq < 4611686018427387904' ELSE '' END) USING erased, size;
        GET DIAGNOSTICS cleared = ROW_COUNT;
        IF cleared > 0 THEN RETURN true; END IF;
    END LOOP;
    DELETE FROM messages WHERE conversation_id = erased;
    DELETE FROM erased_conversations WHERE conversation_id = erased;
    RETURN true;
END $$;
