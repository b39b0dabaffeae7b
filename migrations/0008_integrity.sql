-- Mending what ought not to be: rows of the cluster that were lost, restored by halves or changed by hand. Whatever stands in the
-- tables, a node must be able to start and a leader to lead.

-- One thing that was mended: a word, how many, and up to ten of them; null for none.
CREATE FUNCTION mend_note(word text, subjects text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN cardinality(subjects) > 0
        THEN word || ' ' || cardinality(subjects) || ' ' || array_to_string(subjects[1:10], ' ') END
$$;

CREATE FUNCTION shard_name(kind smallint, number smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE kind WHEN 0 THEN 'conversation' WHEN 1 THEN 'presence' ELSE kind::text END || '/' || number
$$;

-- Whether a moment is one that a clock may have shown.
CREATE FUNCTION is_moment(moment timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT moment BETWEEN '2000-01-01' AND clock_timestamp() + interval '1 hour'
$$;

-- The work of mend_cluster, in one transaction with whatever else changes the cluster waiting. A node that is not as it should be is
-- dead: its process notices and comes back as a new incarnation.
CREATE FUNCTION mend_tables(is_dry boolean) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    notes text[] := '{}';
    subjects text[];
    bad record;
    moment timestamptz := clock_timestamp();
    -- Beyond every number that was counted up by ones.
    beyond bigint := extract(epoch FROM clock_timestamp()) * 1000;
    next_epoch bigint;
BEGIN
    PERFORM 1 FROM cluster_state FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO cluster_state (version, leader_term) VALUES (beyond, beyond) ON CONFLICT DO NOTHING;
        PERFORM 1 FROM cluster_state FOR UPDATE;
        notes := notes || mend_note('clusterStateMissing', ARRAY['cluster']);
    END IF;
    UPDATE cluster_state SET version = beyond WHERE version NOT BETWEEN 0 AND 1::bigint << 60;
    IF FOUND THEN notes := notes || mend_note('clusterVersionWrong', ARRAY['cluster']); END IF;
    UPDATE cluster_state SET leader_term = beyond, leader = NULL, leader_lease_until = '-infinity'
        WHERE leader_term NOT BETWEEN 0 AND 1::bigint << 60;
    IF FOUND THEN notes := notes || mend_note('leaderTermWrong', ARRAY['cluster']); END IF;

    -- Nodes: times first, as the newest incarnation of a name is told by them.
    WITH mended AS (
        UPDATE cluster_nodes n SET started_at = CASE WHEN n.state = 'up' THEN moment ELSE '2000-01-01' END
            WHERE NOT is_moment(n.started_at) RETURNING n.incarnation
    ) SELECT array_agg('node/' || incarnation) INTO subjects FROM mended;
    notes := notes || mend_note('nodeTimeWrong', subjects);
    WITH mended AS (
        UPDATE cluster_nodes n SET lease_until = moment + interval '10 seconds'
            WHERE n.state = 'up' AND n.lease_until > moment + interval '1 hour' RETURNING n.incarnation
    ) SELECT array_agg('node/' || incarnation) INTO subjects FROM mended;
    notes := notes || mend_note('leaseTooLong', subjects);
    WITH mended AS (
        UPDATE cluster_nodes n SET use = 'open'
            WHERE n.use NOT IN ('open', 'cordoned', 'draining', 'drained') RETURNING n.incarnation
    ) SELECT array_agg('node/' || incarnation) INTO subjects FROM mended;
    notes := notes || mend_note('nodeUseUnknown', subjects);
    FOR bad IN
        SELECT n.incarnation, n.state, CASE
                WHEN n.state NOT IN ('up', 'dead', 'left') THEN 'nodeStateUnknown'
                WHEN n.state <> 'up' THEN 'deadFenceOpen'
                WHEN EXISTS (SELECT FROM cluster_nodes o WHERE o.name = n.name AND o.state = 'up'
                    AND (o.started_at, o.incarnation) > (n.started_at, n.incarnation)) THEN 'nodeTwice'
                WHEN NOT EXISTS (SELECT FROM node_fences f WHERE f.incarnation = n.incarnation) THEN 'nodeUnfenced'
                WHEN EXISTS (SELECT FROM node_fences f WHERE f.incarnation = n.incarnation AND NOT f.is_open) THEN 'nodeFenceClosed'
            END AS word
        FROM cluster_nodes n
        WHERE n.state = 'up' OR n.state NOT IN ('up', 'dead', 'left')
            OR EXISTS (SELECT FROM node_fences f WHERE f.incarnation = n.incarnation AND f.is_open)
    LOOP
        CONTINUE WHEN bad.word IS NULL;
        notes := notes || mend_note(bad.word, ARRAY['node/' || bad.incarnation]);
        IF NOT is_dry THEN PERFORM close_fences(bad.incarnation); END IF;
        IF bad.state NOT IN ('dead', 'left') THEN
            UPDATE cluster_nodes SET state = 'dead' WHERE incarnation = bad.incarnation;
            PERFORM forget_incarnation(bad.incarnation, 'failed', 'nodeDied');
        END IF;
    END LOOP;
    -- Whoever has no row may not write.
    FOR bad IN
        SELECT DISTINCT f.incarnation FROM node_fences f
        WHERE NOT EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = f.incarnation)
    LOOP
        notes := notes || mend_note('fenceWithoutNode', ARRAY['node/' || bad.incarnation]);
        IF NOT is_dry THEN PERFORM close_fences(bad.incarnation); END IF;
        DELETE FROM node_fences WHERE incarnation = bad.incarnation;
    END LOOP;
    UPDATE cluster_state c SET leader_lease_until = moment + interval '10 seconds'
        WHERE c.leader_lease_until > moment + interval '1 hour';
    IF FOUND THEN notes := notes || mend_note('leaderLeaseTooLong', ARRAY['cluster']); END IF;
    UPDATE cluster_state c SET leader_lease_until = '-infinity'
        WHERE c.leader_lease_until > moment AND NOT EXISTS (
            SELECT FROM cluster_nodes n WHERE n.incarnation = c.leader AND n.state = 'up');
    IF FOUND THEN notes := notes || mend_note('leaderUnknown', ARRAY['cluster']); END IF;

    -- Shards.
    WITH mended AS (
        DELETE FROM shards s WHERE s.kind NOT IN (0, 1) OR s.number < 0 OR s.number >= CASE s.kind WHEN 0 THEN 1024 ELSE 256 END
            RETURNING s.kind, s.number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardUnknown', subjects);
    SELECT 1000 + COALESCE(max(epoch), 0) INTO next_epoch FROM shards WHERE epoch BETWEEN 0 AND 1::bigint << 60;
    WITH mended AS (
        INSERT INTO shards (kind, number, epoch)
            SELECT w.kind, w.number, next_epoch FROM (
                SELECT 0::smallint AS kind, n::smallint AS number FROM generate_series(0, 1023) n
                UNION ALL SELECT 1::smallint, n::smallint FROM generate_series(0, 255) n
            ) w ON CONFLICT DO NOTHING RETURNING kind, number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardMissing', subjects);
    WITH mended AS (
        UPDATE shards s SET epoch = next_epoch WHERE s.epoch NOT BETWEEN 0 AND 1::bigint << 60 RETURNING s.kind, s.number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardEpochWrong', subjects);
    WITH mended AS (
        UPDATE shards s SET owner = NULL, epoch = s.epoch + 1, target = NULL
            WHERE s.owner IS NOT NULL AND NOT EXISTS (SELECT FROM cluster_nodes n WHERE n.incarnation = s.owner)
            RETURNING s.kind, s.number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardOwnerUnknown', subjects);
    WITH mended AS (
        UPDATE shards s SET target = NULL
            WHERE s.target IS NOT NULL AND (s.owner IS NULL OR s.target = s.owner OR NOT EXISTS (
                SELECT FROM cluster_nodes n WHERE n.incarnation = s.target AND n.state = 'up'))
            RETURNING s.kind, s.number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardTargetWrong', subjects);
    -- What goes with the above changes, and is told only where it is wrong by itself.
    UPDATE shards s SET next_reason = NULL, operation = NULL
        WHERE s.target IS NULL AND (s.next_reason IS NOT NULL OR s.operation IS NOT NULL);
    WITH mended AS (
        UPDATE shards s SET
            reason = CASE WHEN s.reason IN ('placement', 'failover', 'rebalance', 'drain', 'pin') THEN s.reason ELSE 'placement' END,
            next_reason = CASE WHEN s.next_reason IN ('placement', 'failover', 'rebalance', 'drain', 'pin') THEN s.next_reason END,
            since = CASE WHEN is_moment(s.since) THEN s.since ELSE moment END
            WHERE s.reason NOT IN ('placement', 'failover', 'rebalance', 'drain', 'pin')
                OR s.next_reason NOT IN ('placement', 'failover', 'rebalance', 'drain', 'pin') OR NOT is_moment(s.since)
            RETURNING s.kind, s.number
    ) SELECT array_agg('shard/' || shard_name(kind, number)) INTO subjects FROM mended;
    notes := notes || mend_note('shardReasonWrong', subjects);

    -- Pins.
    WITH mended AS (
        DELETE FROM actor_pins p
            WHERE p.kind NOT IN (0, 1) OR p.shard < 0 OR p.shard >= CASE p.kind WHEN 0 THEN 1024 ELSE 256 END
                OR p.node IS NULL AND p.owner IS NULL AND NOT p.is_moving
            RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinWrong', subjects);
    SELECT 1000 + COALESCE(max(epoch), 0) INTO next_epoch FROM actor_pins WHERE epoch BETWEEN 0 AND 1::bigint << 60;
    WITH mended AS (
        UPDATE actor_pins p SET epoch = next_epoch WHERE p.epoch NOT BETWEEN 0 AND 1::bigint << 60 RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinEpochWrong', subjects);
    WITH mended AS (
        UPDATE actor_pins p SET owner = NULL, epoch = p.epoch + 1, is_moving = false, target = NULL, since = moment
            WHERE p.owner IS NOT NULL AND NOT EXISTS (
                SELECT FROM cluster_nodes n WHERE n.incarnation = p.owner AND n.state = 'up')
            RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinOwnerUnknown', subjects);
    WITH mended AS (
        UPDATE actor_pins p SET is_moving = p.is_moving AND p.target IS NULL AND p.owner IS NOT NULL, target = NULL
            WHERE p.target IS NOT NULL AND (NOT p.is_moving OR p.target = p.owner OR NOT EXISTS (
                    SELECT FROM cluster_nodes n WHERE n.incarnation = p.target AND n.state = 'up'))
                OR p.is_moving AND p.target IS NULL AND p.owner IS NULL
            RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinTargetWrong', subjects);
    WITH mended AS (
        UPDATE actor_pins p SET node = NULL
            WHERE p.node IS NOT NULL AND NOT EXISTS (SELECT FROM cluster_nodes n WHERE n.name = p.node) RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinNodeUnknown', subjects);
    DELETE FROM actor_pins p WHERE p.node IS NULL AND p.owner IS NULL AND NOT p.is_moving;
    WITH mended AS (
        UPDATE actor_pins p SET since = moment WHERE NOT is_moment(p.since) RETURNING p.id
    ) SELECT array_agg('actor/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('pinTimeWrong', subjects);

    -- Operations that nobody could end.
    WITH mended AS (
        UPDATE operations o SET state = CASE WHEN o.state IN ('done', 'cancelled', 'failed') THEN o.state ELSE 'failed' END,
                reason = COALESCE(o.reason, 'damaged'), ended_at = COALESCE(o.ended_at, moment), blocked_by = '{}'
            WHERE (o.ended_at IS NULL) <> (o.state IN ('running', 'paused'))
                OR o.ended_at IS NULL AND (o.kind NOT IN ('pin', 'drain', 'rebalance')
                    OR o.kind = 'drain' AND (o.node IS NULL OR o.incarnation IS NULL)
                    OR o.kind = 'pin' AND (o.actor_kind IS NULL OR o.actor_kind NOT IN (0, 1) OR o.actor_id IS NULL))
            RETURNING o.id
    ) SELECT array_agg('operation/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('operationStateWrong', subjects);
    WITH mended AS (
        UPDATE operations o SET state = 'failed', reason = 'nodeDied', ended_at = moment, blocked_by = '{}'
            WHERE o.ended_at IS NULL AND o.kind = 'drain' AND NOT EXISTS (
                SELECT FROM cluster_nodes n WHERE n.incarnation = o.incarnation AND n.state = 'up' AND n.use = 'draining')
            RETURNING o.id
    ) SELECT array_agg('operation/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('drainWithoutNode', subjects);
    WITH mended AS (
        UPDATE operations o SET state = 'failed', reason = 'damaged', ended_at = moment, blocked_by = '{}'
            WHERE o.ended_at IS NULL AND o.kind IN ('drain', 'rebalance') AND EXISTS (
                SELECT FROM operations e WHERE e.ended_at IS NULL AND e.kind = o.kind
                    AND e.incarnation IS NOT DISTINCT FROM o.incarnation AND (e.started_at, e.id) < (o.started_at, o.id))
            RETURNING o.id
    ) SELECT array_agg('operation/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('operationTwice', subjects);
    WITH mended AS (
        UPDATE operations o SET started_at = CASE WHEN is_moment(o.started_at) THEN o.started_at ELSE moment END,
                deadline = CASE WHEN isfinite(o.deadline) THEN o.deadline END, max_moves = GREATEST(o.max_moves, 1),
                moves_planned = GREATEST(o.moves_planned, 0), moves_done = GREATEST(o.moves_done, 0),
                moves_failed = GREATEST(o.moves_failed, 0),
                longest_pause = CASE WHEN o.longest_pause BETWEEN 0 AND 1e12 THEN o.longest_pause END
            WHERE NOT is_moment(o.started_at) OR NOT isfinite(o.deadline) OR o.max_moves < 1 OR o.moves_planned < 0 OR o.moves_done < 0
                OR o.moves_failed < 0 OR o.longest_pause NOT BETWEEN 0 AND 1e12
            RETURNING o.id
    ) SELECT array_agg('operation/' || id) INTO subjects FROM mended;
    notes := notes || mend_note('operationNumbersWrong', subjects);
    WITH mended AS (
        UPDATE cluster_nodes n SET use = 'cordoned'
            WHERE n.state = 'up' AND n.use = 'draining' AND NOT EXISTS (
                SELECT FROM operations o WHERE o.kind = 'drain' AND o.incarnation = n.incarnation AND o.ended_at IS NULL)
            RETURNING n.incarnation
    ) SELECT array_agg('node/' || incarnation) INTO subjects FROM mended;
    notes := notes || mend_note('drainWithoutOperation', subjects);

    notes := array_remove(notes, NULL);
    IF cardinality(notes) > 0 THEN UPDATE cluster_state SET version = version + 1; END IF;
    RETURN notes;
END $$;

-- Mends the cluster's tables and answers what it did, each as `word count subject…`. Dry, it only tells what it would do.
CREATE FUNCTION mend_cluster(is_dry boolean DEFAULT false) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    notes text[];
BEGIN
    BEGIN
        notes := mend_tables(is_dry);
        IF is_dry THEN RAISE EXCEPTION USING ERRCODE = 'RD001', MESSAGE = 'dry'; END IF;
    EXCEPTION WHEN SQLSTATE 'RD001' THEN
        NULL;
    END;
    RETURN notes;
END $$;
