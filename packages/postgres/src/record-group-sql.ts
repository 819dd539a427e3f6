/**
 * The two statements that apply the writes of a group of records: one reads the records, the clock and new
 * revisions, the other writes every record that still has the revision that was read. No lock is held between the
 * two, and a process that stalled after its read cannot write.
 */
import { REQUEST_KEPT_MS } from '@tidemark/core/engine';
import type { ElementType } from './binary-arrays.ts';

/**
 * How long after its read a group may write, on the server's clock. Shorter than the time that watchers wait for a
 * revision.
 */
export const WRITE_WITHIN_MS = 4_000;

/** How much of the fields of a record to read: only their names, or their values too. */
export const FIELDS_READ = { names: 0, values: 1 } as const;

/** The parameters of the first statement: each record with its tenant, key and the fields to read. */
export const LOOK_PARAMETERS: readonly ElementType[] = ['int4', 'text', 'text', 'int4'];

/** In result rows, these replace the number of a record: the clock and the revisions, or a stored request. */
export const CLOCK_ROW = -1;
export const ANSWER_ROW = -2;

/** Laterals make the server look each record up by its key, however small the table was when the plan was made. */
const RECORD_LOOKUP = `
    LEFT JOIN LATERAL (
      SELECT k.revision, k.expires_at, k.requests, k.sum FROM @kv_records k
      WHERE k.tenant_id = i.tenant_id AND k.key = i.key LIMIT 1
    ) r ON true`;

/**
 * Returns the text of `LOOK`. It commits without waiting for the disk, because it changes only the counter of
 * revisions, and the write that uses them is flushed.
 */
const lookSql = (answers: boolean) => `
  SELECT i.no, r.revision, r.expires_at, r.requests, r.sum, f.field, f.value
  FROM unnest($1::int4[], $2::text[], $3::text[], $4::int4[]) AS i (no, tenant_id, key, fields)
  ${RECORD_LOOKUP}
    LEFT JOIN LATERAL (
      SELECT x.field, CASE WHEN i.fields = ${FIELDS_READ.values} THEN x.value END AS value FROM @kv_fields x
      WHERE x.tenant_id = i.tenant_id AND x.key = i.key AND r.revision IS NOT NULL OFFSET 0
    ) f ON true
  UNION ALL
  SELECT ${CLOCK_ROW}, @tidemark_now(), NULL,
    (SELECT string_agg(nextval('@kv_revision')::text, ',') FROM generate_series(1, $5::int4)), NULL,
    set_config('synchronous_commit', 'off', true), NULL${answers ? ANSWERS : ''}`;

const ANSWERS = `
  UNION ALL
  SELECT ${ANSWER_ROW}, NULL, NULL, q.id, NULL, q.tenant_id, NULL FROM unnest($6::text[], $7::text[]) AS q (tenant_id, id)
  WHERE EXISTS (SELECT FROM @requests s WHERE s.tenant_id = q.tenant_id AND s.id = q.id)`;

/** Read the records of a group, without and with stored request ids. */
export const LOOK = lookSql(false);
export const LOOK_AT_REQUESTS = lookSql(true);

/** Reads whole records or, where a field is named, that field alone. */
export const READ = `
  SELECT i.no, r.revision, r.expires_at, r.sum, f.field, f.value, f.sum,
    CASE WHEN r.expires_at IS NULL THEN 0 ELSE @tidemark_now() END
  FROM unnest($1::int4[], $2::text[], $3::text[], $4::text[]) AS i (no, tenant_id, key, field)
  ${RECORD_LOOKUP}
    LEFT JOIN LATERAL (
      SELECT x.field, x.value, x.sum FROM @kv_fields x
      WHERE x.tenant_id = i.tenant_id AND x.key = i.key AND (i.field IS NULL OR x.field = i.field) OFFSET 0
    ) f ON true`;

/** The parameters of a read: each record with its tenant, key and field or NULL. */
export const READ_PARAMETERS: readonly ElementType[] = ['int4', 'text', 'text', 'text'];

/** A table of the second statement's input: its columns with their types. */
type Input = readonly (readonly [name: string, type: ElementType])[];

/** The tables of the input. All tables but the first may be empty. An empty table is left out of the statement. */
export const INPUTS = {
  records: [
    ['no', 'int4'],
    ['tenant_id', 'text'],
    ['key', 'text'],
    ['before', 'int8'],
    ['revision', 'int8'],
    ['expires_at', 'int8'],
    ['requests', 'text'],
    ['sum', 'int4'],
  ],
  fields: [
    ['no', 'int4'],
    ['field', 'text'],
    ['value', 'bytea'],
    ['sum', 'int4'],
  ],
  goneFields: [
    ['no', 'int4'],
    ['field', 'text'],
  ],
  removedIndexKeys: [
    ['no', 'int4'],
    ['place', 'text'],
  ],
  addedIndexKeys: [
    ['no', 'int4'],
    ['place', 'text'],
  ],
  requestIds: [
    ['no', 'int4'],
    ['id', 'text'],
    ['is_new', 'int4'],
  ],
} as const satisfies Record<string, Input>;

export type InputName = keyof typeof INPUTS;

/** Which kinds of changes a group makes to records. */
export interface Kinds {
  makes: boolean;
  moves: boolean;
  removes: boolean;
}

const STORED = `
    CROSS JOIN LATERAL (
      SELECT k.ctid AS at FROM @kv_records k
      WHERE k.tenant_id = i.tenant_id AND k.key = i.key AND k.revision = i.before LIMIT 1
    ) x`;

/** Also compares the revision itself: after waiting for another writer, the server does not compare `ctid` again. */
const IS_STORED = 'r.ctid = x.at AND r.revision = i.before';

/**
 * Selects the records that this statement writes. The order is the same in every group, so that groups do not deadlock.
 */
const CHANGES: Record<keyof Kinds, { sql: string; done: string }> = {
  makes: {
    sql: `made AS (
    INSERT INTO @kv_records (tenant_id, key, revision, expires_at, requests, sum)
    SELECT i.tenant_id, i.key, i.revision, i.expires_at, i.requests, i.sum FROM records i WHERE i.before = 0
    ON CONFLICT (tenant_id, key) DO NOTHING
    RETURNING revision
  )`,
    done: 'SELECT i.no, i.tenant_id, i.key FROM records i JOIN made m ON m.revision = i.revision',
  },
  moves: {
    sql: `moved AS (
    UPDATE @kv_records r SET revision = i.revision, expires_at = i.expires_at, requests = i.requests, sum = i.sum
    FROM records i ${STORED}
    WHERE i.before > 0 AND i.revision > 0 AND ${IS_STORED}
    RETURNING i.no, i.tenant_id, i.key
  )`,
    done: 'SELECT m.no, m.tenant_id, m.key FROM moved m',
  },
  removes: {
    sql: `removed AS (
    DELETE FROM @kv_records r USING records i ${STORED}
    WHERE i.before > 0 AND i.revision = 0 AND ${IS_STORED}
    RETURNING i.no, i.tenant_id, i.key
  )`,
    done: 'SELECT m.no, m.tenant_id, m.key FROM removed m',
  },
};

const removedRows = (name: string, table: string, column: string) => `${name}_removed AS (
    DELETE FROM @${table} WHERE ctid = ANY (ARRAY(
      SELECT x.at FROM ${name} g JOIN done d ON d.no = g.no
      CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM @${table} t
        WHERE t.tenant_id = d.tenant_id AND t.key = d.key AND t.${column} = g.${column} LIMIT 1
      ) x
    ))
  )`;

/** The changes that follow from the records that were written. */
const FOLLOWING: Record<Exclude<InputName, 'records'>, string> = {
  fields: `fields_saved AS (
    INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
    SELECT d.tenant_id, d.key, f.field, f.value, f.sum FROM fields f JOIN done d ON d.no = f.no
    ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value, sum = excluded.sum
  )`,
  goneFields: removedRows('gone_fields', 'kv_fields', 'field'),
  removedIndexKeys: removedRows('gone_places', 'kv_places', 'place'),
  addedIndexKeys: `places_added AS (
    INSERT INTO @kv_places (tenant_id, place, key)
    SELECT d.tenant_id, p.place, d.key FROM added_places p JOIN done d ON d.no = p.no
  )`,
  requestIds: `requests_fenced AS (
    INSERT INTO @requests (tenant_id, id, answer, forget_at)
    SELECT d.tenant_id, q.id, '', @tidemark_now() + ${REQUEST_KEPT_MS} FROM request_ids q JOIN done d ON d.no = q.no
    WHERE q.is_new = 1
  ),
  requests_kept AS (
    INSERT INTO @requests (tenant_id, id, answer, forget_at)
    SELECT d.tenant_id, q.id, '', @tidemark_now() + ${REQUEST_KEPT_MS} FROM request_ids q JOIN done d ON d.no = q.no
    WHERE q.is_new = 0
    ON CONFLICT (tenant_id, id) DO UPDATE SET forget_at = excluded.forget_at
  )`,
};

const TABLE_NAMES: Record<InputName, string> = {
  records: 'records',
  fields: 'fields',
  goneFields: 'gone_fields',
  removedIndexKeys: 'gone_places',
  addedIndexKeys: 'added_places',
  requestIds: 'request_ids',
};

/** Returns the statement that writes a group with these inputs. Its last parameter is the time by which it must run. */
export function writeSql(inputs: readonly InputName[], kinds: Kinds): string {
  let parameter = 0;
  const tables = inputs.map((name) => {
    const columns = INPUTS[name].map(([column]) => column).join(', ');
    const arrays = INPUTS[name].map(([, type]) => `$${++parameter}::${type}[]`).join(', ');
    const source = `SELECT * FROM unnest(${arrays}) AS i (${columns})`;
    // A group that arrives too late writes nothing.
    const within = name === 'records' ? ' WHERE @tidemark_now() <= $LAST::int8' : '';
    return `${TABLE_NAMES[name]} AS MATERIALIZED (${source}${within})`;
  });
  const changes = (['makes', 'moves', 'removes'] as const).filter((kind) => kinds[kind]).map((kind) => CHANGES[kind]);
  const done = `done AS MATERIALIZED (${changes.map((change) => change.done).join(' UNION ALL ')})`;
  const following = inputs.filter((name) => name !== 'records').map((name) => FOLLOWING[name]);
  const parts = [...tables, ...changes.map(({ sql }) => sql), done, ...following];
  const sql = `
  WITH ${parts.join(',\n  ')}
  SELECT no, set_config('synchronous_commit', 'on', true) FROM done`;
  return sql.replace('$LAST', `$${parameter + 1}`);
}
