/**
 * The statement that appends a group of events, many runs at once, in one round trip (RUN-2 to RUN-8, RUN-17). It does
 * the whole of a run or nothing of it; what it leaves undone is settled one append at a time.
 */
import { EVENT_COLUMNS } from './run-rows.ts';

/** Statuses by their place in the list the client sends for each run; the first stands for none. */
export const STATUS_PLACES = ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;

const places = STATUS_PLACES.map((status) => `'${status}'`).join(', ');

export const APPEND = `
  -- 1. What was sent: events, and the runs they belong to.
  WITH input AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::int[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
      $10::text[], $11::text[], $12::json[], $13::json[], $14::text[]
    ) WITH ORDINALITY AS i (
      run_no, commit_index, event_id, event_type, emitted_at, plan_id, plan_version, engine_attempt_id, logical_attempt_id,
      idempotency_key, step_id, extra, payload, roll, ord
    )
  ),
  sent AS MATERIALIZED (
    SELECT * FROM unnest(
      $15::int[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::text[],
      $24::text[], $25::jsonb[], $26::text[]
    ) AS s (
      run_no, tenant_id, run_id, project_id, environment_id, plan_id, plan_version, events, last_roll, statuses, labels,
      parent_run_id
    )
  ),
  -- 2. Keys that are stored already. A run that has one is left alone: without that event its links would be others.
  stored AS MATERIALIZED (
    SELECT i.ord, i.run_no, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
    FROM input i
    JOIN sent s ON s.run_no = i.run_no
    JOIN @run_events e ON e.run_id = s.run_id AND e.tenant_id = s.tenant_id AND e.idempotency_key = i.idempotency_key
  ),
  -- 3. Heads move, in one order for everybody so that no two writers wait for each other. The lock stays until the commit.
  moved AS (
    INSERT INTO @runs AS r (
      tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link, link_before,
      created_at, updated_at, labels, parent_run_id
    )
    SELECT
      s.tenant_id, s.run_id, s.project_id, s.environment_id, s.plan_id, s.plan_version,
      nullif(split_part(s.statuses, ',', 1), ''), s.events,
      sha256('\\x0000000000000000000000000000000000000000000000000000000000000000'::bytea || decode(s.last_roll, 'hex') || int8send(s.events)),
      decode(s.last_roll, 'hex'), clock.now, clock.now, s.labels, s.parent_run_id
    FROM sent s CROSS JOIN LATERAL (SELECT @tidemark_now() AS now) AS clock
    WHERE s.run_no NOT IN (SELECT run_no FROM stored)
    ORDER BY s.run_id, s.tenant_id
    ON CONFLICT (run_id, tenant_id) DO UPDATE SET
      status = (
        SELECT nullif(split_part(s.statuses, ',', coalesce(array_position(ARRAY[${places}], r.status), 0) + 1), '')
        FROM sent s WHERE s.run_id = excluded.run_id AND s.tenant_id = excluded.tenant_id
      ),
      last_seq = r.last_seq + excluded.last_seq,
      link = sha256(r.link || excluded.link_before || int8send(r.last_seq + excluded.last_seq)),
      link_before = r.link,
      -- Read after the lock was taken: time never runs backwards along the log.
      updated_at = greatest(r.updated_at, @tidemark_now())
    WHERE r.removed IS NULL AND r.project_id = excluded.project_id AND r.environment_id = excluded.environment_id
    RETURNING r.run_id, r.tenant_id, r.last_seq, r.link_before, r.updated_at
  ),
  -- 4. Events take the places before the new head, each linked to what was before the commit.
  placed AS (
    SELECT i.*, s.tenant_id, s.run_id, s.project_id, s.environment_id,
      m.last_seq - s.events + i.commit_index AS run_seq, m.updated_at,
      CASE WHEN m.last_seq = s.events
        THEN '\\x0000000000000000000000000000000000000000000000000000000000000000'::bytea ELSE m.link_before
      END AS before
    FROM moved m
    JOIN sent s ON s.run_id = m.run_id AND s.tenant_id = m.tenant_id
    JOIN input i ON i.run_no = s.run_no
  ),
  written AS (
    INSERT INTO @run_events (
      tenant_id, run_id, run_seq, event_id, event_type, emitted_at, persisted_at, project_id, environment_id, plan_id,
      plan_version, engine_attempt_id, logical_attempt_id, idempotency_key, step_id, extra, payload, commit_index, link,
      epoch
    )
    SELECT
      tenant_id, run_id, run_seq, event_id, event_type, emitted_at, updated_at, project_id, environment_id, plan_id,
      plan_version, engine_attempt_id, logical_attempt_id, idempotency_key, step_id, extra, payload, commit_index,
      sha256(before || decode(roll, 'hex') || int8send(run_seq)), (SELECT max(epoch) FROM @feed_epochs)
    FROM placed ORDER BY ord
  )
  -- 5. The answer: a row per run that was written, and one per key that was stored before.
  SELECT s.run_no, m.last_seq - s.events AS before_seq, m.updated_at, NULL::bigint AS ord,
    ${EVENT_COLUMNS.map((column) => `NULL::text AS ${column}`).join(', ')},
    set_config('synchronous_commit', 'on', true) AS synced
  FROM moved m JOIN sent s ON s.run_id = m.run_id AND s.tenant_id = m.tenant_id
  UNION ALL
  SELECT run_no, NULL, NULL, ord, ${EVENT_COLUMNS.map((column) => (column === 'link' ? "encode(link, 'hex')" : `${column}::text`)).join(', ')}, NULL
  FROM stored`;
