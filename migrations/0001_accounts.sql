-- Users, their devices and tokens.
-- Times are the server's, to the millisecond. Enumerations are small numbers, named here and in PostgresStore.

CREATE TABLE users (
    id                  uuid PRIMARY KEY,
    -- Normalised by the server; null for guests.
    email               text COLLATE "C" UNIQUE,
    email_verified      boolean NOT NULL DEFAULT false,
    password_hash       text,
    display_name        text NOT NULL,
    first_name          text,
    last_name           text,
    about               text,
    phone               text,
    photo_media_id      uuid,
    profile_completed   boolean NOT NULL DEFAULT false,
    share_last_seen     boolean NOT NULL DEFAULT true,
    share_read_receipts boolean NOT NULL DEFAULT true,
    directory_visible   boolean NOT NULL DEFAULT true,
    push_preview        boolean NOT NULL DEFAULT true,
    created_at          timestamptz NOT NULL,
    suspended_at        timestamptz,
    deleted_at          timestamptz,
    -- Changes often: kept out of every index, so that the update stays within its page.
    last_seen_at        timestamptz,
    -- The display name as the directory orders it: lower case, without accents (Ports/NameFolding).
    folded_name         text COLLATE "C" NOT NULL,
    -- The transaction that last changed what others see of the user, for sync.
    changed_xid         xid8 NOT NULL DEFAULT pg_current_xact_id()
) WITH (fillfactor = 85);

CREATE INDEX users_directory ON users (folded_name, id)
    WHERE email IS NOT NULL AND deleted_at IS NULL AND directory_visible;

-- Each name from each of its words on, folded, so that a prefix of any word is one range of the index.
CREATE TABLE user_words (
    folded  text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    -- 0 display name, 1 first name, 2 last name.
    source  smallint NOT NULL,
    PRIMARY KEY (folded, user_id, source)
);

CREATE INDEX user_words_user ON user_words (user_id);

CREATE TABLE devices (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text,
    platform     text,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    -- By the database's clock.
    revoked_at   timestamptz
);

CREATE INDEX devices_user ON devices (user_id) WHERE revoked_at IS NULL;
CREATE INDEX devices_revoked ON devices (revoked_at) WHERE revoked_at IS NOT NULL;

-- Only hashes. A spent token stays until it would have expired, so that its reuse is noticed.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    device_id  uuid NOT NULL REFERENCES devices ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    spent_at   timestamptz,
    successor  bytea
);

CREATE INDEX refresh_tokens_device ON refresh_tokens (device_id);

CREATE TABLE cluster_secrets (
    name   text PRIMARY KEY,
    secret bytea NOT NULL
);

-- Spends one token for another. Answers 0 unknown, 1 rotated, 2 reused (and then the device is revoked).
CREATE FUNCTION rotate_refresh_token(
    spent_hash bytea, successor_hash bytea, moment timestamptz, new_expiry timestamptz, grace interval,
    OUT outcome smallint, OUT device uuid, OUT owner uuid
) LANGUAGE plpgsql AS $$
DECLARE
    token refresh_tokens;
BEGIN
    outcome := 0;
    SELECT * INTO token FROM refresh_tokens WHERE hash = spent_hash FOR UPDATE;
    IF NOT FOUND OR token.expires_at <= moment THEN RETURN; END IF;

    SELECT d.id, d.user_id INTO device, owner
        FROM devices d JOIN users u ON u.id = d.user_id
        WHERE d.id = token.device_id AND d.revoked_at IS NULL AND u.suspended_at IS NULL AND u.deleted_at IS NULL
        FOR NO KEY UPDATE OF d;
    IF NOT FOUND THEN RETURN; END IF;

    IF token.spent_at IS NULL THEN
        UPDATE refresh_tokens SET spent_at = moment, successor = successor_hash WHERE hash = spent_hash;
        DELETE FROM refresh_tokens WHERE device_id = device AND expires_at <= moment;
        INSERT INTO refresh_tokens (hash, device_id, expires_at) VALUES (successor_hash, device, new_expiry);
        UPDATE devices SET last_used_at = GREATEST(last_used_at, moment) WHERE id = device;
        outcome := 1;
    ELSIF moment - token.spent_at <= grace AND token.successor = successor_hash THEN
        outcome := 1;
    ELSE
        UPDATE devices SET revoked_at = clock_timestamp() WHERE id = device;
        DELETE FROM refresh_tokens WHERE device_id = device;
        outcome := 2;
    END IF;
END $$;
