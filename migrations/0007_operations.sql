-- What operators wish of the cluster: nodes that are cordoned or drained, actors that are pinned, moves under way. Functions of 0003 that
-- the release before calls keep their names and arguments, so that the two can run side by side.

-- 'open', 'cordoned', 'draining' or 'drained'.
ALTER TABLE cluster_nodes ADD COLUMN use text NOT NULL DEFAULT 'open';

ALTER TABLE shards
    ADD COLUMN since timestamptz,
    -- Why the owner has it: 'placement', 'failover', 'rebalance', 'drain' or 'pin'.
    ADD COLUMN reason text NOT NULL DEFAULT 'placement',
    -- While it moves: why, and for which operation.
    ADD COLUMN next_reason text,
    ADD COLUMN operation uuid;

-- Actors that live, or are to live, apart from their shards.
CREATE TABLE actor_pins (
    kind      smallint NOT NULL,
    id        uuid NOT NULL,
    -- The number of its shard.
    shard     smallint NOT NULL,
    -- The name of the node where it is wanted; null while it is on its way back to its shard, after which the row goes.
    node      text COLLATE "C",
    -- Null while it lives with its shard.
    owner     uuid,
    epoch     bigint NOT NULL DEFAULT 0,
    is_moving boolean NOT NULL DEFAULT false,
    -- While it moves: the next owner, or null for its shard.
    target    uuid,
    since     timestamptz NOT NULL,
    operation uuid,
    PRIMARY KEY (kind, id)
);

-- What presence tells is ordered by the epochs of shard and pin together, which must not fall when the pin goes.
CREATE FUNCTION keep_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shards SET epoch = epoch + OLD.epoch + 1 WHERE kind = OLD.kind AND number = OLD.shard;
    RETURN NULL;
END $$;

CREATE TRIGGER keep_epoch AFTER DELETE ON actor_pins FOR EACH ROW WHEN (OLD.kind = 1 AND OLD.epoch > 0) EXECUTE FUNCTION keep_epoch();

-- Drains, rebalances and pins. The leader carries them out; any leader can go on with them.
CREATE TABLE operations (
    id             uuid PRIMARY KEY,
    -- 'pin', 'drain' or 'rebalance'.
    kind           text NOT NULL,
    -- 'running', 'paused', 'done', 'cancelled' or 'failed'.
    state          text NOT NULL,
    reason         text,
    node           text COLLATE "C",
    -- The life of the node that is drained.
    incarnation    uuid,
    actor_kind     smallint,
    actor_id       uuid,
    -- The moves of a rebalance, each `kind number|id from to load pause`, separated by `;`.
    moves          text NOT NULL DEFAULT '',
    max_moves      int NOT NULL DEFAULT 4,
    started_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    deadline       timestamptz,
    started_by     text NOT NULL,
    moves_planned  int NOT NULL DEFAULT 0,
    moves_done     int NOT NULL DEFAULT 0,
    moves_failed   int NOT NULL DEFAULT 0,
    -- Milliseconds.
    longest_pause  float8,
    blocked_by     text[] NOT NULL DEFAULT '{}'
);

CREATE INDEX operations_unfinished ON operations (started_at) WHERE ended_at IS NULL;

-- Plans that were shown; the newest hundred.
CREATE TABLE rebalance_plans (
    id           uuid PRIMARY KEY,
    view_version bigint NOT NULL,
    moves        text NOT NULL,
    -- `name=load`, separated by `;`.
    before_loads text NOT NULL,
    after_loads  text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION note_operator(operator_name text, act text, what text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit (at, operator, action, subject) VALUES (clock_timestamp(), operator_name, act, what)
$$;

-- What an incarnation that is over leaves to its shards, and the end of its drain.
CREATE FUNCTION forget_incarnation(gone uuid, drain_state text, drain_reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shards SET target = NULL, next_reason = NULL, operation = NULL WHERE target = gone;
    DELETE FROM actor_pins WHERE owner = gone AND node IS NULL;
    UPDATE actor_pins SET owner = NULL, epoch = epoch + 1, is_moving = false, target = NULL, since = clock_timestamp()
        WHERE owner = gone;
    UPDATE actor_pins SET is_moving = false, target = NULL WHERE target = gone;
    UPDATE operations SET state = drain_state, reason = drain_reason, ended_at = clock_timestamp(), blocked_by = '{}'
        WHERE kind = 'drain' AND incarnation = gone AND ended_at IS NULL;
END $$;

CREATE OR REPLACE FUNCTION register_node(
    node text, new_incarnation uuid, lanes int, new_url text, new_admin_url text, new_version text, lease_seconds float8
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old uuid;
    new_use text := 'open';
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    -- The newest life's cordon stays; a drain was that life's own.
    SELECT CASE WHEN n.use = 'cordoned' THEN 'cordoned' ELSE 'open' END INTO new_use
        FROM cluster_nodes n WHERE n.name = node ORDER BY n.started_at DESC, n.incarnation DESC LIMIT 1;
    FOR old IN SELECT incarnation FROM cluster_nodes WHERE name = node AND incarnation <> new_incarnation AND state <> 'dead' LOOP
        PERFORM close_fences(old);
        UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = old;
    END LOOP;
    INSERT INTO node_fences (incarnation, lane, is_open) SELECT new_incarnation, n, true FROM generate_series(0, lanes - 1) n;
    INSERT INTO cluster_nodes (incarnation, name, state, url, admin_url, version, started_at, lease_until, use)
        VALUES (new_incarnation, node, 'up', new_url, new_admin_url, new_version, clock_timestamp(),
            clock_timestamp() + lease_seconds * interval '1 second', COALESCE(new_use, 'open'));
    UPDATE shards s SET owner = new_incarnation, epoch = epoch + 1, target = NULL, next_reason = NULL, operation = NULL,
            since = clock_timestamp(), reason = 'failover'
        FROM cluster_nodes n WHERE n.incarnation = s.owner AND n.name = node AND s.owner <> new_incarnation;
    UPDATE actor_pins p SET owner = new_incarnation, epoch = epoch + 1, is_moving = false, target = NULL, since = clock_timestamp()
        FROM cluster_nodes n
        WHERE n.incarnation = p.owner AND n.name = register_node.node AND p.owner <> new_incarnation AND p.node IS NOT NULL;
    FOR old IN SELECT incarnation FROM cluster_nodes WHERE name = node AND incarnation <> new_incarnation LOOP
        PERFORM forget_incarnation(old, 'failed', 'nodeDied');
    END LOOP;
    -- What owns nothing any more and is dead has no reader; its fences go, which keeps it shut out all the same.
    DELETE FROM node_fences f USING cluster_nodes n
        WHERE n.incarnation = f.incarnation AND n.name = node AND n.state = 'dead' AND n.started_at < now() - interval '1 day';
    DELETE FROM cluster_nodes n WHERE n.name = node AND n.state = 'dead' AND n.started_at < now() - interval '1 day';
    UPDATE cluster_state SET version = version + 1,
        leader_lease_until = CASE WHEN leader IN (SELECT incarnation FROM cluster_nodes WHERE state = 'up')
            THEN leader_lease_until ELSE '-infinity' END;
END $$;

CREATE OR REPLACE FUNCTION leave_cluster(leaving uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    PERFORM close_fences(leaving);
    UPDATE cluster_nodes SET state = 'left', lease_until = clock_timestamp() WHERE incarnation = leaving AND state = 'up';
    IF FOUND THEN
        PERFORM forget_incarnation(leaving, 'done', 'nodeLeft');
        UPDATE cluster_state SET version = version + 1,
            leader_lease_until = CASE WHEN leader = leaving THEN '-infinity' ELSE leader_lease_until END;
    END IF;
END $$;

-- Applies placements (parallel arrays); the caller holds the row of cluster_state. Answers how many held. A move goes to open nodes
-- only; a shard without a living owner goes wherever it is told.
CREATE FUNCTION apply_placements(
    kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[], reasons text[], wanted_by uuid[]
) RETURNS bigint LANGUAGE sql AS $$
    WITH wanted AS (
        SELECT * FROM unnest(kinds, numbers, owners, epochs, moves, reasons, wanted_by)
            AS w(kind, number, owner, epoch, is_move, reason, operation)
    ), changed AS (
        UPDATE shards s SET
            owner = CASE WHEN w.is_move THEN s.owner ELSE w.owner END,
            epoch = CASE WHEN w.is_move THEN s.epoch ELSE s.epoch + 1 END,
            target = CASE WHEN w.is_move THEN w.owner END,
            since = CASE WHEN w.is_move THEN s.since ELSE clock_timestamp() END,
            reason = CASE WHEN w.is_move THEN s.reason ELSE w.reason END,
            next_reason = CASE WHEN w.is_move THEN w.reason END,
            operation = CASE WHEN w.is_move AND w.operation <> '00000000-0000-0000-0000-000000000000' THEN w.operation END
        FROM wanted w
        WHERE s.kind = w.kind AND s.number = w.number AND s.epoch = w.epoch
            AND EXISTS (
                SELECT FROM cluster_nodes n
                WHERE n.incarnation = w.owner AND n.state = 'up' AND (n.use = 'open' OR NOT w.is_move OR w.owner = s.owner))
            AND w.is_move = EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = s.owner AND n.state = 'up')
        RETURNING 1
    )
    SELECT count(*) FROM changed
$$;

CREATE OR REPLACE FUNCTION apply_placements(
    kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[]
) RETURNS bigint LANGUAGE sql AS $$
    SELECT apply_placements(
        kinds, numbers, owners, epochs, moves,
        ARRAY(SELECT CASE WHEN m THEN 'rebalance' ELSE 'failover' END FROM unnest(moves) WITH ORDINALITY AS u(m, n) ORDER BY n),
        array_fill('00000000-0000-0000-0000-000000000000'::uuid, ARRAY[cardinality(kinds)]))
$$;

CREATE FUNCTION place_shards(
    term bigint, kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[], reasons text[],
    wanted_by uuid[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    IF apply_placements(kinds, numbers, owners, epochs, moves, reasons, wanted_by) > 0 THEN
        UPDATE cluster_state SET version = version + 1;
    END IF;
    RETURN true;
END $$;

CREATE FUNCTION declare_dead(
    dead uuid, term bigint, kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[], reasons text[],
    wanted_by uuid[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM close_fences(dead);
    UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = dead AND state <> 'dead';
    PERFORM forget_incarnation(dead, 'failed', 'nodeDied');
    PERFORM apply_placements(kinds, numbers, owners, epochs, moves, reasons, wanted_by);
    UPDATE cluster_state SET version = version + 1;
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION declare_dead(
    dead uuid, term bigint, kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM close_fences(dead);
    UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = dead AND state <> 'dead';
    PERFORM forget_incarnation(dead, 'failed', 'nodeDied');
    PERFORM apply_placements(kinds, numbers, owners, epochs, moves);
    UPDATE cluster_state SET version = version + 1;
    RETURN true;
END $$;

-- Marks pinned actors as moving; a target of zeros is the actor's shard.
CREATE FUNCTION move_pins(term bigint, kinds smallint[], ids uuid[], targets uuid[], epochs bigint[])
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE actor_pins p SET is_moving = true, target = NULLIF(w.target, '00000000-0000-0000-0000-000000000000')
        FROM unnest(kinds, ids, targets, epochs) AS w(kind, id, target, epoch)
        WHERE p.kind = w.kind AND p.id = w.id AND p.epoch = w.epoch AND NOT p.is_moving
            AND (w.target = '00000000-0000-0000-0000-000000000000'
                OR EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = w.target AND n.state = 'up'));
    IF FOUND THEN UPDATE cluster_state SET version = version + 1; END IF;
    RETURN true;
END $$;

-- The owner hands over what moves. An actor that lives with its shard is the shard's owner's to give.
CREATE FUNCTION release_places(
    releasing uuid, kinds smallint[], numbers smallint[], pin_kinds smallint[], pin_ids uuid[],
    closed_milliseconds float8
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := clock_timestamp();
    is_changed boolean := false;
    ended uuid[];
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    SELECT array_agg(s.operation) INTO ended FROM shards s JOIN unnest(kinds, numbers) AS w(kind, number)
        ON s.kind = w.kind AND s.number = w.number
        WHERE s.owner = releasing AND s.target IS NOT NULL AND s.operation IS NOT NULL;
    -- Actors first: one that lives with a shard which moves in the same call is still this owner's to give.
    WITH released AS (
        UPDATE actor_pins p SET owner = p.target, epoch = p.epoch + 1, is_moving = false, target = NULL, since = moment
            FROM unnest(pin_kinds, pin_ids) AS w(kind, id)
            WHERE p.kind = w.kind AND p.id = w.id AND p.is_moving
                AND COALESCE(p.owner, (SELECT s.owner FROM shards s WHERE s.kind = p.kind AND s.number = p.shard)) = releasing
            RETURNING p.operation
    )
    SELECT ended || array_agg(operation), count(*) > 0 INTO ended, is_changed FROM released;
    DELETE FROM actor_pins p USING unnest(pin_kinds, pin_ids) AS w(kind, id)
        WHERE p.kind = w.kind AND p.id = w.id AND p.owner IS NULL AND p.node IS NULL AND NOT p.is_moving;
    UPDATE shards s SET owner = s.target, epoch = s.epoch + 1, target = NULL, since = moment,
            reason = COALESCE(s.next_reason, 'rebalance'), next_reason = NULL, operation = NULL
        FROM unnest(kinds, numbers) AS w(kind, number)
        WHERE s.kind = w.kind AND s.number = w.number AND s.owner = releasing AND s.target IS NOT NULL;
    IF NOT (FOUND OR is_changed) THEN RETURN; END IF;
    UPDATE operations SET longest_pause = GREATEST(
            longest_pause, closed_milliseconds + extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000)
        WHERE id = ANY (ended);
    UPDATE cluster_state SET version = version + 1;
END $$;

CREATE OR REPLACE FUNCTION release_shards(releasing uuid, kinds smallint[], numbers smallint[]) RETURNS void LANGUAGE sql AS $$
    SELECT release_places(releasing, kinds, numbers, '{}', '{}', 0)
$$;

-- What operators do. Answers: 0 done, 1 there is no such thing, 2 it is in the way of something, 3 the plan is of an older view.

-- Opens or cordons the node of a name. Opening one that drains cancels its drain; one that drains or is drained is cordoned already.
CREATE FUNCTION set_node_use(wanted text, node_name text, operator_name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found_node cluster_nodes;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    SELECT * INTO found_node FROM cluster_nodes WHERE name = node_name AND state = 'up';
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM note_operator(operator_name, CASE wanted WHEN 'open' THEN 'node.uncordon' ELSE 'node.cordon' END, node_name);
    IF found_node.use = wanted OR (wanted = 'cordoned' AND found_node.use <> 'open') THEN RETURN true; END IF;
    UPDATE cluster_nodes SET use = wanted WHERE incarnation = found_node.incarnation;
    UPDATE operations SET state = 'cancelled', reason = 'uncordoned', ended_at = clock_timestamp(), blocked_by = '{}'
        WHERE kind = 'drain' AND incarnation = found_node.incarnation AND ended_at IS NULL;
    UPDATE cluster_state SET version = version + 1;
    RETURN true;
END $$;

CREATE FUNCTION begin_drain(new_id uuid, node_name text, timeout float8, operator_name text, OUT status smallint, OUT operation uuid)
LANGUAGE plpgsql AS $$
DECLARE
    found_node cluster_nodes;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    SELECT * INTO found_node FROM cluster_nodes WHERE name = node_name AND state = 'up';
    IF NOT FOUND THEN
        status := CASE WHEN EXISTS (SELECT FROM cluster_nodes WHERE name = node_name) THEN 2 ELSE 1 END;
        RETURN;
    END IF;
    status := 0;
    SELECT id INTO operation FROM operations
        WHERE kind = 'drain' AND incarnation = found_node.incarnation AND ended_at IS NULL;
    IF FOUND THEN RETURN; END IF;
    operation := new_id;
    UPDATE cluster_nodes SET use = 'draining' WHERE incarnation = found_node.incarnation;
    INSERT INTO operations (id, kind, state, node, incarnation, started_at, deadline, started_by, moves_planned)
        VALUES (new_id, 'drain', 'running', node_name, found_node.incarnation, clock_timestamp(),
            clock_timestamp() + timeout * interval '1 second', operator_name,
            (SELECT count(*) FROM shards WHERE owner = found_node.incarnation)
                + (SELECT count(*) FROM actor_pins WHERE owner = found_node.incarnation));
    PERFORM note_operator(operator_name, 'node.drain', node_name);
    UPDATE cluster_state SET version = version + 1;
END $$;

-- The node itself says that its clients have gone.
CREATE FUNCTION end_drain(draining uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    UPDATE cluster_nodes SET use = 'drained' WHERE incarnation = draining AND state = 'up' AND use = 'draining'
        AND NOT EXISTS (SELECT FROM shards WHERE owner = draining) AND NOT EXISTS (SELECT FROM actor_pins WHERE owner = draining);
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE operations SET state = 'done', ended_at = clock_timestamp(), moves_done = moves_planned, blocked_by = '{}'
        WHERE kind = 'drain' AND incarnation = draining AND ended_at IS NULL;
    UPDATE cluster_state SET version = version + 1;
    RETURN true;
END $$;

CREATE FUNCTION begin_rebalance(
    new_id uuid, view_version bigint, new_moves text, move_count int, new_max int, why text, operator_name text
) RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE version = view_version FOR UPDATE;
    IF NOT FOUND THEN RETURN 3; END IF;
    IF EXISTS (SELECT FROM operations WHERE kind = 'rebalance' AND ended_at IS NULL) THEN RETURN 2; END IF;
    INSERT INTO operations (id, kind, state, reason, moves, max_moves, started_at, ended_at, started_by, moves_planned)
        VALUES (new_id, 'rebalance', CASE WHEN move_count = 0 THEN 'done' ELSE 'running' END, why, new_moves, new_max,
            clock_timestamp(), CASE WHEN move_count = 0 THEN clock_timestamp() END, operator_name, move_count);
    PERFORM note_operator(operator_name, 'rebalance', new_id::text);
    IF move_count > 0 THEN UPDATE cluster_state SET version = version + 1; END IF;
    RETURN 0;
END $$;

CREATE FUNCTION pin_actor(
    new_id uuid, pin_kind smallint, pin_id uuid, pin_shard smallint, node_name text, pin_limit bigint, operator_name text
) RETURNS smallint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    IF NOT EXISTS (SELECT FROM cluster_nodes WHERE name = node_name) THEN RETURN 1; END IF;
    IF NOT EXISTS (SELECT FROM cluster_nodes WHERE name = node_name AND state = 'up' AND use = 'open') THEN RETURN 2; END IF;
    IF (SELECT count(*) FROM actor_pins WHERE (kind, id) <> (pin_kind, pin_id)) >= pin_limit THEN RETURN 2; END IF;
    UPDATE operations SET state = 'cancelled', reason = 'superseded', ended_at = clock_timestamp(), blocked_by = '{}'
        WHERE kind = 'pin' AND actor_kind = pin_kind AND actor_id = pin_id AND ended_at IS NULL;
    INSERT INTO operations (id, kind, state, node, actor_kind, actor_id, started_at, started_by, moves_planned)
        VALUES (new_id, 'pin', 'running', node_name, pin_kind, pin_id, clock_timestamp(), operator_name, 1);
    INSERT INTO actor_pins (kind, id, shard, node, since, operation)
        VALUES (pin_kind, pin_id, pin_shard, node_name, clock_timestamp(), new_id)
        ON CONFLICT (kind, id) DO UPDATE SET node = EXCLUDED.node, operation = EXCLUDED.operation;
    PERFORM note_operator(operator_name, 'actor.pin', CASE pin_kind WHEN 0 THEN 'conversation/' ELSE 'presence/' END || pin_id);
    UPDATE cluster_state SET version = version + 1;
    RETURN 0;
END $$;

CREATE FUNCTION unpin_actor(new_id uuid, pin_kind smallint, pin_id uuid, operator_name text)
RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
    pin actor_pins;
    is_home boolean;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    SELECT * INTO pin FROM actor_pins WHERE kind = pin_kind AND id = pin_id AND node IS NOT NULL;
    IF NOT FOUND THEN RETURN 1; END IF;
    UPDATE operations SET state = 'cancelled', reason = 'superseded', ended_at = clock_timestamp(), blocked_by = '{}'
        WHERE kind = 'pin' AND actor_kind = pin_kind AND actor_id = pin_id AND ended_at IS NULL;
    is_home := pin.owner IS NULL AND NOT pin.is_moving;
    INSERT INTO operations (id, kind, state, actor_kind, actor_id, started_at, ended_at, started_by, moves_planned)
        VALUES (new_id, 'pin', CASE WHEN is_home THEN 'done' ELSE 'running' END, pin_kind, pin_id, clock_timestamp(),
            CASE WHEN is_home THEN clock_timestamp() END, operator_name, CASE WHEN is_home THEN 0 ELSE 1 END);
    IF is_home THEN
        DELETE FROM actor_pins WHERE kind = pin_kind AND id = pin_id;
    ELSE
        UPDATE actor_pins SET node = NULL, operation = new_id WHERE kind = pin_kind AND id = pin_id;
    END IF;
    PERFORM note_operator(operator_name, 'actor.unpin', CASE pin_kind WHEN 0 THEN 'conversation/' ELSE 'presence/' END || pin_id);
    UPDATE cluster_state SET version = version + 1;
    RETURN 0;
END $$;

-- Pauses, resumes or cancels.
CREATE FUNCTION change_operation(changed uuid, change text, operator_name text) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
    old operations;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    SELECT * INTO old FROM operations WHERE id = changed FOR UPDATE;
    IF NOT FOUND THEN RETURN 1; END IF;
    IF old.ended_at IS NOT NULL THEN RETURN 2; END IF;
    PERFORM note_operator(operator_name, 'operation.' || change, changed::text);
    CASE change
        WHEN 'pause' THEN UPDATE operations SET state = 'paused' WHERE id = changed;
        WHEN 'resume' THEN UPDATE operations SET state = 'running' WHERE id = changed;
        WHEN 'cancel' THEN
            UPDATE operations SET state = 'cancelled', reason = 'cancelled', ended_at = clock_timestamp(), blocked_by = '{}'
                WHERE id = changed;
            UPDATE cluster_nodes SET use = 'cordoned'
                WHERE incarnation = old.incarnation AND old.kind = 'drain' AND use = 'draining';
    END CASE;
    UPDATE cluster_state SET version = version + 1;
    RETURN 0;
END $$;

-- The leader's note of how far an operation is. `end_state` null where it goes on.
CREATE FUNCTION note_operation(
    term bigint, noted uuid, planned int, done int, not_done int, blocked text[], end_state text, end_reason text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    old operations;
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    SELECT * INTO old FROM operations WHERE id = noted AND ended_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN true; END IF;
    UPDATE operations SET moves_planned = planned, moves_done = done, moves_failed = not_done, blocked_by = blocked,
            state = COALESCE(end_state, state), reason = COALESCE(end_reason, reason),
            ended_at = CASE WHEN end_state IS NOT NULL THEN clock_timestamp() END
        WHERE id = noted;
    IF end_state IS NOT NULL THEN
        UPDATE cluster_nodes SET use = 'cordoned'
            WHERE incarnation = old.incarnation AND old.kind = 'drain' AND use = 'draining';
    END IF;
    -- Each view carries the unfinished ones, and the leader decides by it.
    UPDATE cluster_state SET version = version + 1 WHERE end_state IS NOT NULL;
    RETURN true;
END $$;
