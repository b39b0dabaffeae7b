-- Links in mails, push addresses, contacts, suspension and deletion.
--
-- Whatever touches the devices of a user locks the user's row first: a login that checked the password before a change of it and
-- stores its device after it would else survive. Functions in PL/pgSQL, as each of their statements sees what was committed before
-- it, while the parts of one statement all see what was there at its beginning.

-- The tokens of links in mails, by hash.
CREATE TABLE mail_tokens (
    hash       bytea PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    -- As in mails: 1 verify the email, 2 reset the password.
    kind       smallint NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX mail_tokens_user ON mail_tokens (user_id);
CREATE INDEX mail_tokens_expiry ON mail_tokens (expires_at);
-- Of the links that reset a password only the newest works.
CREATE UNIQUE INDEX mail_tokens_reset ON mail_tokens (user_id) WHERE kind = 2;

CREATE TABLE push_addresses (
    device_id  uuid PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
    -- 1 APNs, 2 FCM, 3 Web Push.
    provider   smallint NOT NULL,
    -- At most 2,048 bytes, so that it fits the index.
    token      text COLLATE "C" NOT NULL,
    topic      text,
    is_sandbox boolean NOT NULL DEFAULT false,
    p256dh     text,
    auth       text,
    set_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A token has one owner.
CREATE UNIQUE INDEX push_addresses_token ON push_addresses (provider, token);

-- Private address books.
CREATE TABLE contacts (
    owner_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    user_id        uuid NOT NULL,
    -- Whether the owner knew the email; then it is shown to them.
    by_email       boolean NOT NULL,
    -- The owner's own name and picture of them.
    nickname       text,
    photo_media_id uuid,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (owner_id, user_id)
);

CREATE INDEX contacts_page ON contacts (owner_id, created_at, user_id);
CREATE INDEX contacts_user ON contacts (user_id);
CREATE INDEX blocks_page ON blocks (blocker_id, created_at, blocked_id);

-- For sync: whose names and pictures are new.
CREATE INDEX users_changed ON users (changed_xid);

-- A revoked device keeps neither tokens nor a push address, whoever revokes it.
CREATE FUNCTION clear_revoked_device() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM refresh_tokens WHERE device_id = NEW.id;
    DELETE FROM push_addresses WHERE device_id = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER devices_revoked AFTER UPDATE OF revoked_at ON devices
    FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION clear_revoked_device();

-- Revokes all devices of a user but one; which they were. The caller has locked the user's row.
CREATE FUNCTION revoke_devices(owner uuid, keep uuid) RETURNS uuid[] LANGUAGE sql VOLATILE AS $$
    WITH revoked AS (
        UPDATE devices SET revoked_at = clock_timestamp()
        WHERE user_id = owner AND revoked_at IS NULL AND id IS DISTINCT FROM keep RETURNING id
    )
    SELECT COALESCE(array_agg(id), '{}') FROM revoked
$$;

-- As before, but the device is locked before the token, as where a device is revoked.
CREATE OR REPLACE FUNCTION rotate_refresh_token(
    spent_hash bytea, successor_hash bytea, moment timestamptz, new_expiry timestamptz, grace interval,
    OUT outcome smallint, OUT device uuid, OUT owner uuid
) LANGUAGE plpgsql AS $$
DECLARE
    token refresh_tokens;
BEGIN
    outcome := 0;
    SELECT d.id, d.user_id INTO device, owner
        FROM refresh_tokens t JOIN devices d ON d.id = t.device_id JOIN users u ON u.id = d.user_id
        WHERE t.hash = spent_hash AND d.revoked_at IS NULL AND u.suspended_at IS NULL AND u.deleted_at IS NULL
        FOR NO KEY UPDATE OF d;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT * INTO token FROM refresh_tokens WHERE hash = spent_hash FOR UPDATE;
    IF NOT FOUND OR token.expires_at <= moment THEN RETURN; END IF;

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
        outcome := 2;
    END IF;
END $$;

-- Stores a login whose password was checked against `checked_hash`; false where that is no longer the account's.
CREATE FUNCTION log_in(
    owner uuid, checked_hash text, device uuid, device_name text, device_platform text, moment timestamptz, token_hash bytea,
    token_expiry timestamptz
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM users
        WHERE id = owner AND password_hash = checked_hash AND suspended_at IS NULL AND deleted_at IS NULL FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO devices (id, user_id, name, platform, created_at, last_used_at)
        VALUES (device, owner, device_name, device_platform, moment, moment);
    INSERT INTO refresh_tokens (hash, device_id, expires_at) VALUES (token_hash, device, token_expiry);
    RETURN true;
END $$;

-- Makes a token good and queues its mail.
CREATE FUNCTION send_mail_token(
    owner uuid, recipient text, token_kind smallint, token_hash bytea, expiry timestamptz, token text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF token_kind = 2 THEN DELETE FROM mail_tokens WHERE user_id = owner AND kind = 2; END IF;
    INSERT INTO mail_tokens (hash, user_id, kind, expires_at) VALUES (token_hash, owner, token_kind, expiry);
    PERFORM queue_mail(recipient, token_kind, token);
END $$;

-- A unique violation where the email is taken; false where this is no guest with such a live device.
CREATE FUNCTION link_guest(
    guest uuid, device uuid, new_email text, new_hash text, refresh_hash bytea, refresh_expiry timestamptz, token_hash bytea,
    token_expiry timestamptz, token text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM users
        WHERE id = guest AND email IS NULL AND suspended_at IS NULL AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM FROM devices WHERE id = device AND user_id = guest AND revoked_at IS NULL FOR KEY SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE users SET email = new_email, email_verified = false, password_hash = new_hash, changed_xid = pg_current_xact_id()
        WHERE id = guest;
    INSERT INTO refresh_tokens (hash, device_id, expires_at) VALUES (refresh_hash, device, refresh_expiry);
    PERFORM send_mail_token(guest, new_email, 1::smallint, token_hash, token_expiry, token);
    RETURN true;
END $$;

CREATE FUNCTION request_password_reset(
    account_email text, token_hash bytea, expiry timestamptz, token text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    owner uuid;
BEGIN
    SELECT id INTO owner FROM users
        WHERE email = account_email COLLATE "C" AND suspended_at IS NULL AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF FOUND THEN PERFORM send_mail_token(owner, account_email, 2::smallint, token_hash, expiry, token); END IF;
END $$;

CREATE FUNCTION request_verification(
    owner uuid, token_hash bytea, expiry timestamptz, token text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    recipient text;
BEGIN
    SELECT email INTO recipient FROM users
        WHERE id = owner AND email IS NOT NULL AND NOT email_verified AND suspended_at IS NULL AND deleted_at IS NULL
        FOR NO KEY UPDATE;
    IF FOUND THEN PERFORM send_mail_token(owner, recipient, 1::smallint, token_hash, expiry, token); END IF;
END $$;

-- The devices that were logged out; null where the token is not good.
CREATE FUNCTION reset_password(reset_hash bytea, new_hash text, moment timestamptz) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    owner uuid;
BEGIN
    -- The user's row first, as everywhere; the token itself is spent under that lock.
    SELECT user_id INTO owner FROM mail_tokens WHERE hash = reset_hash AND kind = 2 AND expires_at > moment;
    IF NOT FOUND THEN RETURN NULL; END IF;
    PERFORM FROM users WHERE id = owner AND email IS NOT NULL AND suspended_at IS NULL AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    DELETE FROM mail_tokens WHERE hash = reset_hash;
    IF NOT FOUND THEN RETURN NULL; END IF;
    DELETE FROM mail_tokens WHERE user_id = owner AND kind = 2;
    UPDATE users SET password_hash = new_hash, email_verified = true WHERE id = owner;
    RETURN revoke_devices(owner, NULL);
END $$;

-- The devices that were logged out; null where the password is another by now.
CREATE FUNCTION change_password(owner uuid, expected text, new_hash text, keep uuid) RETURNS uuid[] LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM users
        WHERE id = owner AND password_hash = expected AND suspended_at IS NULL AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    UPDATE users SET password_hash = new_hash WHERE id = owner;
    DELETE FROM mail_tokens WHERE user_id = owner AND kind = 2;
    RETURN revoke_devices(owner, keep);
END $$;

-- The token goes from whichever other device had it. False where the user has no such live device.
CREATE FUNCTION set_push_address(
    owner uuid, device uuid, push_provider smallint, push_token text, push_topic text, sandbox boolean, key_p256dh text,
    key_auth text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- Locks out a logout and other calls for the same device.
    PERFORM FROM devices WHERE id = device AND user_id = owner AND revoked_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    DELETE FROM push_addresses WHERE device_id = device;
    INSERT INTO push_addresses (device_id, provider, token, topic, is_sandbox, p256dh, auth)
        VALUES (device, push_provider, push_token, push_topic, sandbox, key_p256dh, key_auth)
        ON CONFLICT (provider, token) DO UPDATE SET
            device_id = excluded.device_id, topic = excluded.topic, is_sandbox = excluded.is_sandbox,
            p256dh = excluded.p256dh, auth = excluded.auth, set_at = excluded.set_at;
    RETURN true;
END $$;

-- What is left to do for deleted accounts: to leave their conversations, and to erase what they did there.
CREATE TABLE user_deletions (
    user_id      uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    requested_at timestamptz NOT NULL,
    -- Until then one node works at it, and no other does.
    claimed_until timestamptz NOT NULL
);

CREATE INDEX user_deletions_due ON user_deletions (claimed_until);

-- The first step of a deletion, after which nothing of the person can be seen or used: answers the devices that were logged out,
-- null where there is no such live account.
CREATE FUNCTION erase_account(subject uuid, moment timestamptz, claim interval) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    old_email text;
    revoked   uuid[];
BEGIN
    SELECT email INTO old_email FROM users WHERE id = subject AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    revoked := revoke_devices(subject, NULL);
    -- The rows stay until no access token of theirs lives any more.
    UPDATE devices SET name = NULL, platform = NULL WHERE user_id = subject;
    UPDATE users SET
        email = NULL, email_verified = false, password_hash = NULL, display_name = 'Deleted account', folded_name = '',
        first_name = NULL, last_name = NULL, about = NULL, phone = NULL, photo_media_id = NULL, profile_completed = false,
        directory_visible = false, last_seen_at = NULL, suspended_at = NULL, deleted_at = moment,
        changed_xid = pg_current_xact_id()
        WHERE id = subject;
    DELETE FROM user_words WHERE user_id = subject;
    DELETE FROM mail_tokens WHERE user_id = subject;
    DELETE FROM mail_outbox WHERE recipient = old_email;
    DELETE FROM contacts WHERE owner_id = subject;
    -- What others noted of the person goes too: their name for them, and that they knew the email.
    DELETE FROM contacts WHERE user_id = subject;
    DELETE FROM blocks WHERE blocker_id = subject;
    DELETE FROM blocks WHERE blocked_id = subject;
    INSERT INTO user_deletions (user_id, requested_at, claimed_until) VALUES (subject, moment, clock_timestamp() + claim)
        ON CONFLICT DO NOTHING;
    RETURN revoked;
END $$;

-- What operators did. Deleting accounts leaves the ids.
CREATE TABLE audit (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    operator text NOT NULL,
    -- A word such as user.suspend.
    action   text NOT NULL,
    -- What it was done to.
    subject  text NOT NULL
);

-- Suspends or lets be, logs out or deletes a user, and notes it. The devices that were logged out; null where there is no such
-- live account, and then nothing is noted.
CREATE FUNCTION moderate_user(
    subject uuid, act text, operator_name text, moment timestamptz, claim interval
) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    revoked uuid[] := '{}';
BEGIN
    PERFORM FROM users WHERE id = subject AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    CASE act
        WHEN 'suspend' THEN
            UPDATE users SET suspended_at = COALESCE(suspended_at, moment) WHERE id = subject;
            DELETE FROM mail_tokens WHERE user_id = subject AND kind = 2;
            revoked := revoke_devices(subject, NULL);
        WHEN 'unsuspend' THEN UPDATE users SET suspended_at = NULL WHERE id = subject;
        WHEN 'logout' THEN revoked := revoke_devices(subject, NULL);
        WHEN 'delete' THEN revoked := erase_account(subject, moment, claim);
        WHEN 'export' THEN NULL;
    END CASE;
    INSERT INTO audit (at, operator, action, subject) VALUES (moment, operator_name, 'user.' || act, subject::text);
    RETURN revoked;
END $$;
