/**
 * The statement that appends a group of events to many runs in one round trip (RUN-2 to RUN-8, RUN-17). It writes all
 * of a run's events or none; the exact append handles the rest one at a time.
 */
import { EVENT_FIELDS, type EventField, type EventFieldName, EXPIRY_LABEL, RUN_STATUSES } from '@tidemark/core';
import { type ChainFormat, OWN_FIELDS, ROW_FIELDS } from '@tidemark/core/engine';
import { columnOf, EVENT_COLUMNS } from '@tidemark/sql';
import type { ElementType } from './binary-arrays.ts';

/**
 * The statuses in the order of the list that the client sends for each run, after its first item, which stands for no
 * status.
 */
const statusList = RUN_STATUSES.map((status) => `'${status}'`).join(', ');

/**
 * Selects the stored event of a run with a key with a single lookup in the index of keys. With an equality condition,
 * the planner may assume that runs are short, use the index of sequences and read a whole run for each key. A range in
 * key order, with sorts disabled in the store's sessions, forces the right index.
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
 * The feed position that a head moves to: the position of this transaction, but never lower than its current one. A
 * transaction may be older than the transaction whose lock it waited for, and the feed keeps the order of each run.
 */
export const FEED_POSITION = `
      feed_xid = CASE WHEN r.feed_epoch = (SELECT max(epoch) FROM @feed_epochs)
        THEN greatest(r.feed_xid, pg_current_xact_id()) ELSE pg_current_xact_id()
      END,
      feed_epoch = (SELECT max(epoch) FROM @feed_epochs)`;

export const FIRST_LINK_BYTES = `'\\x${'00'.repeat(32)}'::bytea`;

const COLUMN_TYPES: Record<EventField['type'], ElementType> = {
  uuid: 'text',
  id: 'text',
  time: 'text',
  integer: 'int8',
  object: 'json',
  instant: 'int8',
  digest: 'bytea',
  redaction: 'text',
};

export function columnType(field: EventFieldName): ElementType {
  return COLUMN_TYPES[EVENT_FIELDS[field].type];
}

/** A name and the type of its values. */
type Parameter = readonly [name: string, type: ElementType];

/**
 * The columns of each event: its run, its index in the run as if all events were new, and its leaf and roll (RUN-17). The
 * roll of the first event is NULL, because it is the leaf.
 */
export const EVENT_PARAMETERS: readonly Parameter[] = [
  ['run_no', 'int4'],
  ['place_sent', 'int4'],
  ['sent', 'int4'],
  ['tenant_id', 'text'],
  ['run_id', 'text'],
  ...OWN_FIELDS.map((field): Parameter => [columnOf(field), columnType(field)]),
  ['leaf', 'bytea'],
  ['roll', 'bytea'],
];

/** The columns of each run. */
export const RUN_PARAMETERS: readonly Parameter[] = [
  ['run_no', 'int4'],
  ['project_id', 'text'],
  ['environment_id', 'text'],
  ['statuses', 'text'],
  ['labels', 'json'],
  ['parent_run_id', 'text'],
];

function unnested(parameters: readonly Parameter[], from: number): string {
  return `unnest(${parameters.map(([, type], at) => `$${from + at}::${type}[]`).join(', ')})`;
}

const names = (parameters: readonly Parameter[]) => parameters.map(([name]) => name).join(', ');

/** The new status of an existing run, selected by its current one. */
const NEXT_STATUS = `(
        SELECT CASE WHEN n.statuses = '' THEN r.status
          ELSE nullif(split_part(n.statuses, ',', coalesce(array_position(ARRAY[${statusList}], r.status), 0) + 1), '')
        END
        FROM news n WHERE n.run_id = excluded.run_id AND n.tenant_id = excluded.tenant_id
      )`;

/**
 * Skips a run with stored events whose status could change, because the result depends on which of the events are new.
 */
const LEFT_ALONE = `
      AND (i.run_no NOT IN (SELECT run_no FROM stored) OR i.run_no IN (SELECT run_no FROM runs_sent WHERE statuses = ''))`;

/**
 * Whether a group may append to the run `r`: it is live, in its first life, and never expires. The others are left to
 * the exact append, which compares the clock and the life after it has locked the head.
 */
const IS_PLAIN = `r.removed IS NULL AND r.life = 1 AND r.labels ->> '${EXPIRY_LABEL}' IS NULL`;

/** The SQL of a chain format: the bytes that the links of a commit cover before its roll. */
interface FormatSql {
  format: ChainFormat;
  /** At the start of a run. */
  atStart: string;
  /** After the commit that the head `r` shows: its link and, in format 2, its time. */
  afterHead: string;
}

const FORMATS: Record<ChainFormat, FormatSql> = {
  1: { format: 1, atStart: FIRST_LINK_BYTES, afterHead: 'r.link' },
  2: { format: 2, atStart: `'\\x${'00'.repeat(40)}'::bytea`, afterHead: '(r.link || int8send(r.updated_at))' },
};

/** The fields that an append writes. A redaction is set later. Format 1 and life 1 are stored as NULL. */
function writtenIn({ format }: FormatSql) {
  return ROW_FIELDS.filter(
    (field) => field !== 'redaction' && field !== 'life' && (field !== 'chainFormat' || format > 1),
  );
}

/** The SQL for fields that are not sent with the event. */
const OF_HEAD: Partial<Record<EventFieldName, string>> = {
  runSeq: 'h.before_seq + n.place',
  persistedAt: 'h.updated_at',
  projectId: 'h.project_id',
  environmentId: 'h.environment_id',
  commitIndex: 'n.place',
  link: 'sha256(h.before_link || n.linked_by || int8send(h.before_seq + n.place))',
};

function writtenValue(field: EventFieldName, { format }: FormatSql): string {
  return field === 'chainFormat' ? String(format) : (OF_HEAD[field] ?? `n.${columnOf(field)}`);
}

const appendSql = (change: { status: string; leftAlone: string }, chain: FormatSql) => `
  -- 1. The input: events and their runs.
  WITH input AS MATERIALIZED (
    SELECT * FROM ${unnested(EVENT_PARAMETERS, 1)} WITH ORDINALITY AS i (${names(EVENT_PARAMETERS)}, ord)
  ),
  runs_sent AS MATERIALIZED (
    SELECT * FROM ${unnested(RUN_PARAMETERS, EVENT_PARAMETERS.length + 1)} AS s (${names(RUN_PARAMETERS)})
  ),
  -- 2. Events whose key is already stored.
  stored AS MATERIALIZED (
    SELECT i.ord, i.run_no, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
    FROM input i
    CROSS JOIN LATERAL ${storedAtKey('i.run_id', 'i.tenant_id', 'i.idempotency_key')} AS e
    -- Ignores runs that are removed, still being restored, in a later life, or that may have expired.
    WHERE (SELECT ${IS_PLAIN} FROM @runs r WHERE r.run_id = e.run_id AND r.tenant_id = e.tenant_id)
  ),
  -- 3. The new events, numbered without gaps. The client rolled the leaves of a run as if all were new. If some are
  -- not, they are rolled again here.
  fresh AS MATERIALIZED (
    SELECT i.*,
      i.place_sent - (SELECT count(*) FROM stored e WHERE e.run_no = i.run_no AND e.ord < i.ord) AS place,
      i.sent - (SELECT count(*) FROM stored e WHERE e.run_no = i.run_no) AS events
    FROM input i
    WHERE i.ord NOT IN (SELECT ord FROM stored)${change.leftAlone}
  ),
  rolled AS MATERIALIZED (
    SELECT f.*, coalesce(f.roll, f.leaf) AS linked_by FROM fresh f WHERE f.events = f.sent
    UNION ALL
    SELECT f.*, @tidemark_roll(f.leaf) OVER (PARTITION BY f.run_no ORDER BY f.place) FROM fresh f WHERE f.events < f.sent
  ),
  news AS MATERIALIZED (
    -- All runs of the input, so that the planner expects many and uses a hash join. "events" is NULL if none is new.
    SELECT s.run_no, e.tenant_id, e.run_id, e.plan_id, e.plan_version, e.events, e.linked_by AS last_roll,
      s.project_id, s.environment_id, s.statuses, s.labels, s.parent_run_id
    FROM runs_sent s LEFT JOIN rolled e ON e.run_no = s.run_no AND e.place = e.events
  ),
  -- 4. Moves the heads, always in the same order to avoid deadlocks. The locks are held until the commit.
  moved AS (
    INSERT INTO @runs AS r (
      tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link, link_before,
      created_at, updated_at, labels, parent_run_id, feed_epoch, feed_xid
    )
    SELECT
      n.tenant_id, n.run_id, n.project_id, n.environment_id, n.plan_id, n.plan_version,
      nullif(split_part(n.statuses, ',', 1), ''), n.events, sha256(${chain.atStart} || n.last_roll || int8send(n.events)),
      n.last_roll, clock.now, clock.now, n.labels, n.parent_run_id,
      (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id()
    FROM news n
    CROSS JOIN LATERAL (SELECT @tidemark_now() AS now) AS clock
    WHERE n.events IS NOT NULL
    ORDER BY n.run_id COLLATE "C", n.tenant_id COLLATE "C"
    ON CONFLICT (run_id, tenant_id) DO UPDATE SET
      status = ${change.status},
      last_seq = r.last_seq + excluded.last_seq,
      link = sha256(${chain.afterHead} || excluded.link_before || int8send(r.last_seq + excluded.last_seq)),
      link_before = ${chain.afterHead},
      -- Read after the lock was taken, so that time never runs backwards along the log.
      updated_at = greatest(r.updated_at, @tidemark_now()),
      ${FEED_POSITION}
    WHERE ${IS_PLAIN} AND r.project_id = excluded.project_id AND r.environment_id = excluded.environment_id
    RETURNING r.run_id, r.tenant_id, r.last_seq, r.link_before, r.updated_at, r.feed_epoch, r.feed_xid
  ),
  heads AS MATERIALIZED (
    SELECT n.run_no, n.tenant_id, n.run_id, n.project_id, n.environment_id, m.updated_at, m.feed_epoch, m.feed_xid,
      m.last_seq - n.events AS before_seq,
      CASE WHEN m.last_seq = n.events THEN ${chain.atStart} ELSE m.link_before END AS before_link
    FROM moved m JOIN news n ON n.run_id = m.run_id AND n.tenant_id = m.tenant_id
  ),
  -- 5. Inserts the events up to the new head, each linked to the link before the commit.
  written AS (
    INSERT INTO @run_events (tenant_id, run_id, ${writtenIn(chain).map(columnOf).join(', ')}, epoch, xid)
    SELECT h.tenant_id, h.run_id, ${writtenIn(chain)
      .map((field) => writtenValue(field, chain))
      .join(', ')}, h.feed_epoch, h.feed_xid
    FROM heads h JOIN rolled n ON n.run_no = h.run_no
    ORDER BY n.ord
  )
  -- 6. The result: one row for all runs that were written, and one per key that was already stored.
  SELECT string_agg(concat(run_no, ' ', before_seq, ' ', updated_at), ','), NULL::int4, NULL::text[],
    (SELECT set_config('synchronous_commit', 'on', true))
  FROM heads
  UNION ALL
  SELECT NULL, run_no, ARRAY[${EVENT_COLUMNS.map(asText).join(', ')}], NULL
  FROM stored`;

function asText(column: string): string {
  return column === 'link' ? "encode(link, 'hex')" : `${column}::text`;
}

const changing = { status: NEXT_STATUS, leftAlone: LEFT_ALONE };
const keeping = { status: 'r.status', leftAlone: '' };

/** The statement for groups whose events may change the status of a run, in each format of the chain. */
export const APPEND: Record<ChainFormat, string> = {
  1: appendSql(changing, FORMATS[1]),
  2: appendSql(changing, FORMATS[2]),
};

/** The statement for groups whose events cannot change the status, in each format of the chain. */
export const APPEND_KEEPING_STATUS: Record<ChainFormat, string> = {
  1: appendSql(keeping, FORMATS[1]),
  2: appendSql(keeping, FORMATS[2]),
};
