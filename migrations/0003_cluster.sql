-- Who is alive, who may write, who owns which shard, who leads. All times are the database's.

CREATE TABLE cluster_nodes (
    incarnation uuid PRIMARY KEY,
    name        text COLLATE "C" NOT NULL,
    -- 'up', 'dead' or 'left'.
    state       text NOT NULL,
    url         text NOT NULL,
    admin_url   text NOT NULL,
    version     text NOT NULL,
    started_at  timestamptz NOT NULL,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX cluster_nodes_name ON cluster_nodes (name);

-- A row per incarnation and lane: every commit of the lane locks its row and needs it open. Apart from the lease, so that
-- renewals and commits do not wait for one another.
CREATE TABLE node_fences (
    incarnation uuid NOT NULL,
    lane        smallint NOT NULL,
    is_open     boolean NOT NULL,
    PRIMARY KEY (incarnation, lane)
) WITH (fillfactor = 50);

CREATE TABLE shards (
    -- 0 conversation, 1 presence.
    kind   smallint NOT NULL,
    number smallint NOT NULL,
    owner  uuid,
    epoch  bigint NOT NULL DEFAULT 0,
    -- Set while the shard moves.
    target uuid,
    PRIMARY KEY (kind, number)
);

INSERT INTO shards (kind, number)
    SELECT 0, n FROM generate_series(0, 1023) n UNION ALL SELECT 1, n FROM generate_series(0, 255) n;

-- One row. Every change of nodes, shards or leader locks it first, so they come one after another.
CREATE TABLE cluster_state (
    only_row           boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version            bigint NOT NULL DEFAULT 1,
    leader             uuid,
    leader_term        bigint NOT NULL DEFAULT 0,
    leader_lease_until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

INSERT INTO cluster_state DEFAULT VALUES;

-- Closes the fences of an incarnation, waiting for its commits in flight. A commit that does not end (its process was stopped
-- between two packets) must not hold up the cluster: its connections are ended, which undoes it.
CREATE FUNCTION close_fences(dead uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR attempt IN 1..3 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '1200ms', true);
            UPDATE node_fences SET is_open = false WHERE incarnation = dead AND is_open;
            PERFORM set_config('lock_timeout', '0', true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'roost-journal-' || dead AND pid <> pg_backend_pid();
        END;
    END LOOP;
    RAISE lock_not_available USING MESSAGE = 'fences are still held';
END $$;

CREATE FUNCTION register_node(
    node text, new_incarnation uuid, lanes int, new_url text, new_admin_url text, new_version text, lease_seconds float8
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old uuid;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    FOR old IN SELECT incarnation FROM cluster_nodes WHERE name = node AND incarnation <> new_incarnation AND state <> 'dead' LOOP
        PERFORM close_fences(old);
        UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = old;
    END LOOP;
    INSERT INTO node_fences (incarnation, lane, is_open) SELECT new_incarnation, n, true FROM generate_series(0, lanes - 1) n;
    INSERT INTO cluster_nodes (incarnation, name, state, url, admin_url, version, started_at, lease_until)
        VALUES (new_incarnation, node, 'up', new_url, new_admin_url, new_version, clock_timestamp(),
            clock_timestamp() + lease_seconds * interval '1 second');
    UPDATE shards s SET owner = new_incarnation, epoch = epoch + 1, target = NULL
        FROM cluster_nodes n WHERE n.incarnation = s.owner AND n.name = node AND s.owner <> new_incarnation;
    UPDATE shards s SET target = NULL
        FROM cluster_nodes n WHERE n.incarnation = s.target AND n.name = node AND s.target <> new_incarnation;
    -- What owns nothing any more and is dead has no reader; its fences go, which keeps it shut out all the same.
    DELETE FROM node_fences f USING cluster_nodes n
        WHERE n.incarnation = f.incarnation AND n.name = node AND n.state = 'dead' AND n.started_at < now() - interval '1 day';
    DELETE FROM cluster_nodes n WHERE n.name = node AND n.state = 'dead' AND n.started_at < now() - interval '1 day';
    UPDATE cluster_state SET version = version + 1,
        leader_lease_until = CASE WHEN leader IN (SELECT incarnation FROM cluster_nodes WHERE state = 'up')
            THEN leader_lease_until ELSE '-infinity' END;
END $$;

CREATE FUNCTION leave_cluster(leaving uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    PERFORM close_fences(leaving);
    UPDATE cluster_nodes SET state = 'left', lease_until = clock_timestamp() WHERE incarnation = leaving AND state = 'up';
    IF FOUND THEN
        UPDATE shards SET target = NULL WHERE target = leaving;
        UPDATE cluster_state SET version = version + 1,
            leader_lease_until = CASE WHEN leader = leaving THEN '-infinity' ELSE leader_lease_until END;
    END IF;
END $$;

-- Takes or prolongs the leadership; null where another holds it, or where the node is not up.
CREATE FUNCTION lead_cluster(candidate uuid, displacing uuid, lease_seconds float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    state cluster_state;
    lease timestamptz;
BEGIN
    SELECT * INTO state FROM cluster_state FOR UPDATE;
    PERFORM 1 FROM cluster_nodes n WHERE n.incarnation = candidate AND n.state = 'up';
    IF NOT FOUND THEN RETURN NULL; END IF;
    lease := clock_timestamp() + lease_seconds * interval '1 second';
    IF state.leader = candidate THEN
        UPDATE cluster_state SET leader_lease_until = lease;
        RETURN state.leader_term;
    ELSIF state.leader IS NULL OR state.leader = displacing OR state.leader_lease_until <= clock_timestamp() THEN
        UPDATE cluster_state
            SET leader = candidate, leader_term = leader_term + 1, leader_lease_until = lease, version = version + 1;
        RETURN state.leader_term + 1;
    END IF;
    RETURN NULL;
END $$;

-- Applies placements (parallel arrays); the caller holds the row of cluster_state. Answers how many held.
CREATE FUNCTION apply_placements(
    kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[]
) RETURNS bigint LANGUAGE sql AS $$
    WITH wanted AS (
        SELECT * FROM unnest(kinds, numbers, owners, epochs, moves) AS w(kind, number, owner, epoch, is_move)
    ), changed AS (
        UPDATE shards s SET
            owner = CASE WHEN w.is_move THEN s.owner ELSE w.owner END,
            epoch = CASE WHEN w.is_move THEN s.epoch ELSE s.epoch + 1 END,
            target = CASE WHEN w.is_move THEN w.owner END
        FROM wanted w
        WHERE s.kind = w.kind AND s.number = w.number AND s.epoch = w.epoch
            AND EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = w.owner AND n.state = 'up')
            AND w.is_move = EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = s.owner AND n.state = 'up')
        RETURNING 1
    )
    SELECT count(*) FROM changed
$$;

CREATE FUNCTION place_shards(
    term bigint, kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    IF apply_placements(kinds, numbers, owners, epochs, moves) > 0 THEN
        UPDATE cluster_state SET version = version + 1;
    END IF;
    RETURN true;
END $$;

CREATE FUNCTION declare_dead(
    dead uuid, term bigint, kinds smallint[], numbers smallint[], owners uuid[], epochs bigint[], moves boolean[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state WHERE leader_term = term FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM close_fences(dead);
    UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = dead AND state <> 'dead';
    UPDATE shards SET target = NULL WHERE target = dead;
    PERFORM apply_placements(kinds, numbers, owners, epochs, moves);
    UPDATE cluster_state SET version = version + 1;
    RETURN true;
END $$;

CREATE FUNCTION release_shards(releasing uuid, kinds smallint[], numbers smallint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    UPDATE shards s SET owner = s.target, epoch = s.epoch + 1, target = NULL
        FROM unnest(kinds, numbers) AS w(kind, number)
        WHERE s.kind = w.kind AND s.number = w.number AND s.owner = releasing AND s.target IS NOT NULL;
    IF FOUND THEN UPDATE cluster_state SET version = version + 1; END IF;
END $$;
