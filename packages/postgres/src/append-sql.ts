/**
 * The statement that appends a group of events, many runs at once, in one round trip (RUN-2 to RUN-8, RUN-17). It does
 * the whole of a run or nothing of it; what it leaves undone is settled one append at a time.
 */
import { EVENT_COLUMNS } from '@tidemark/sql';

/** Statuses by their place in the list the client sends for each run; the first stands for none. */
export const STATUS_PLACES = ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;

const places = STATUS_PLACES.map((status) => `'${status}'`).join(', ');

/**
 * The stored event of a run with a key: one look-up in the index of keys. Asked for equality, the planner may take the
 * index of sequences and read a whole run for each key, where it believes that runs are short; a range in the order of
 * keys, with sorts switched off for our sessions, leaves it no choice.
 */
export function storedAtKey(runId: string, tenantId: string, key: string): string {
  return `(
      SELECT * FROM @run_events k
      WHERE k.run_id = ${runId} AND k.tenant_id = ${tenantId}
        AND k.idempotency_key >= ${key} AND k.idempotency_key <= ${key}
      ORDER BY k.idempotency_key LIMIT 1
    )`;
}

/**
 * The place in the feed a head moves to: that of this transaction, never behind the one it had. A transaction may be
 * older than the one whose lock it waited for, and the feed keeps the order of runs.
 */
export const FEED_PLACE = `
      feed_xid = CASE WHEN r.feed_epoch = (SELECT max(epoch) FROM @feed_epochs)
        THEN greatest(r.feed_xid, pg_current_xact_id()) ELSE pg_current_xact_id()
      END,
      feed_epoch = (SELECT max(epoch) FROM @feed_epochs)`;

const FIRST_LINK = `'\\x${'00'.repeat(32)}'::bytea`;

/** The status of a run that is there already: looked up by what it was, or left as it is where no event can change it. */
const NEXT_STATUS = `(
        SELECT CASE WHEN s.statuses = '' THEN r.status
          ELSE nullif(split_part(s.statuses, ',', coalesce(array_position(ARRAY[${places}], r.status), 0) + 1), '')
        END
        FROM sent s WHERE s.run_id = excluded.run_id AND s.tenant_id = excluded.tenant_id
      )`;

const appendSql = (status: string) => `
  -- 1. What was sent: events, and the runs they belong to.
  WITH RECURSIVE input AS MATERIALIZED (
    SELECT * FROM unnest(
      $1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
      $9::text[], $10::text[], $11::json[], $12::json[], $13::text[], $14::text[]
    ) WITH ORDINALITY AS i (
      run_no, event_id, event_type, emitted_at, plan_id, plan_version, engine_attempt_id, logical_attempt_id,
      idempotency_key, step_id, extra, payload, leaf, roll, ord
    )
  ),
  sent AS MATERIALIZED (
    SELECT * FROM unnest(
      $15::int[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::jsonb[],
      $24::text[]
    ) AS s (
      run_no, tenant_id, run_id, project_id, environment_id, plan_id, plan_version, statuses, labels, parent_run_id
    )
  ),
  -- 2. Keys that are stored already.
  stored AS MATERIALIZED (
    SELECT i.ord, i.run_no, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
    FROM input i
    JOIN sent s ON s.run_no = i.run_no
    CROSS JOIN LATERAL ${storedAtKey('s.run_id', 's.tenant_id', 'i.idempotency_key')} AS e
  ),
  -- 3. What is new. The client rolled the leaves of a run as if all were; where some are not, they are rolled here. A run
  -- whose status could change is then left alone: what its events make of it depends on which of them are new.
  repeated AS MATERIALIZED (SELECT DISTINCT run_no FROM stored),
  fresh AS MATERIALIZED (
    SELECT i.*, row_number() OVER (PARTITION BY i.run_no ORDER BY i.ord) AS place
    FROM input i
    JOIN sent s ON s.run_no = i.run_no
    WHERE i.ord NOT IN (SELECT ord FROM stored)
      AND (s.statuses = '' OR i.run_no NOT IN (SELECT run_no FROM repeated))
  ),
  rolling AS (
    SELECT f.run_no, f.place, decode(f.leaf, 'hex') AS roll
    FROM fresh f JOIN repeated r ON r.run_no = f.run_no WHERE f.place = 1
    UNION ALL
    SELECT f.run_no, f.place, sha256(r.roll || decode(f.leaf, 'hex'))
    FROM rolling r JOIN fresh f ON f.run_no = r.run_no AND f.place = r.place + 1
  ),
  rolled AS MATERIALIZED (
    SELECT f.*, coalesce(r.roll, decode(coalesce(f.roll, f.leaf), 'hex')) AS linked_by
    FROM fresh f LEFT JOIN rolling r ON r.run_no = f.run_no AND r.place = f.place
  ),
  ends AS MATERIALIZED (
    SELECT DISTINCT ON (run_no) run_no, place AS events, linked_by AS last_roll FROM rolled ORDER BY run_no, place DESC
  ),
  -- 4. Heads move, in one order for everybody so that no two writers wait for each other. The lock stays until the commit.
  moved AS (
    INSERT INTO @runs AS r (
      tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link, link_before,
      created_at, updated_at, labels, parent_run_id, feed_epoch, feed_xid
    )
    SELECT
      s.tenant_id, s.run_id, s.project_id, s.environment_id, s.plan_id, s.plan_version,
      nullif(split_part(s.statuses, ',', 1), ''), e.events, sha256(${FIRST_LINK} || e.last_roll || int8send(e.events)),
      e.last_roll, clock.now, clock.now, s.labels, s.parent_run_id,
      (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id()
    FROM sent s
    JOIN ends e ON e.run_no = s.run_no
    CROSS JOIN LATERAL (SELECT @tidemark_now() AS now) AS clock
    ORDER BY s.run_id, s.tenant_id
    ON CONFLICT (run_id, tenant_id) DO UPDATE SET
      status = ${status},
      last_seq = r.last_seq + excluded.last_seq,
      link = sha256(r.link || excluded.link_before || int8send(r.last_seq + excluded.last_seq)),
      link_before = r.link,
      -- Read after the lock was taken: time never runs backwards along the log.
      updated_at = greatest(r.updated_at, @tidemark_now()),
      ${FEED_PLACE}
    WHERE r.removed IS NULL AND r.project_id = excluded.project_id AND r.environment_id = excluded.environment_id
    RETURNING r.run_id, r.tenant_id, r.last_seq, r.link_before, r.updated_at, r.feed_epoch, r.feed_xid
  ),
  heads AS MATERIALIZED (
    SELECT s.*, m.updated_at, m.feed_epoch, m.feed_xid, m.last_seq - e.events AS before_seq,
      CASE WHEN m.last_seq = e.events THEN ${FIRST_LINK} ELSE m.link_before END AS before_link
    FROM moved m
    JOIN sent s ON s.run_id = m.run_id AND s.tenant_id = m.tenant_id
    JOIN ends e ON e.run_no = s.run_no
  ),
  -- 5. Events take the places before the new head, each linked to what was before the commit.
  written AS (
    INSERT INTO @run_events (
      tenant_id, run_id, run_seq, event_id, event_type, emitted_at, persisted_at, project_id, environment_id, plan_id,
      plan_version, engine_attempt_id, logical_attempt_id, idempotency_key, step_id, extra, payload, commit_index, link,
      epoch, xid
    )
    SELECT
      h.tenant_id, h.run_id, h.before_seq + n.place, n.event_id, n.event_type, n.emitted_at, h.updated_at, h.project_id,
      h.environment_id, n.plan_id, n.plan_version, n.engine_attempt_id, n.logical_attempt_id, n.idempotency_key, n.step_id,
      n.extra, n.payload, n.place, sha256(h.before_link || n.linked_by || int8send(h.before_seq + n.place)),
      h.feed_epoch, h.feed_xid
    FROM heads h JOIN rolled n ON n.run_no = h.run_no
    ORDER BY n.ord
  )
  -- 6. The answer: a row per run that was written, and one per key that was stored before.
  SELECT run_no, before_seq, updated_at, NULL::text[] AS stored, (SELECT set_config('synchronous_commit', 'on', true))
  FROM heads
  UNION ALL
  SELECT run_no, NULL, NULL, ARRAY[${EVENT_COLUMNS.map(asText).join(', ')}], NULL
  FROM stored`;

function asText(column: string): string {
  return column === 'link' ? "encode(link, 'hex')" : `${column}::text`;
}

/** For groups whose events may change the status of a run, and for those that cannot. */
export const APPEND = appendSql(NEXT_STATUS);
export const APPEND_KEEPING_STATUS = appendSql('r.status');
