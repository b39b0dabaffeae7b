-- Mails to be sent, with the tokens of their links. A row is made in the transaction that makes the token, and deleted when the mail
-- has been sent, or after a day.

CREATE TABLE mail_outbox (
    id              bigserial PRIMARY KEY,
    recipient       text NOT NULL,
    -- 1 verify the email, 2 reset the password.
    kind            smallint NOT NULL,
    token           text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts        integer NOT NULL DEFAULT 0,
    -- Also while a node sends it: until then no other one may take it.
    next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX mail_outbox_due ON mail_outbox (next_attempt_at);
CREATE INDEX mail_outbox_age ON mail_outbox (created_at);

CREATE FUNCTION queue_mail(recipient text, kind smallint, token text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mail_outbox (recipient, kind, token) VALUES ($1, $2, $3);
$$;
