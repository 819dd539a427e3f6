/**
 * The statement that moves jobs which this process holds and claims others, in one round trip (KV-7). The server takes
 * the time and the revisions, and chooses the jobs to claim. Rows of moved jobs are locked in the order of their keys
 * first; claims skip rows that others have locked, so they never wait.
 */
import { REMEMBERED_REQUESTS } from '@tidemark/core/engine';
import type { ElementType } from './binary-arrays.ts';
import { integerSum, isSummedTime, mappedSum, SumMaps, timeSum } from './checksum-sql.ts';

/** The state of a job that can be claimed. */
export const CLAIMABLE = { field: 'state', value: Buffer.from('pending') } as const;

/** Checksums of a claimed job are computed from that of its state before the claim. */
export const CLAIM_SUMS = new SumMaps(CLAIMABLE);

type Input = readonly (readonly [name: string, type: ElementType])[];

/** The tables of the input. `no` is the number of a job in the step, `stamp` that of a time. */
export const STEP_INPUTS = {
  /** Times, as milliseconds from now. */
  stamps: [
    ['stamp', 'int4'],
    ['shift', 'int8'],
  ],
  /**
   * The fields that a job gets: a value, or a time. `sum` is its checksum, to be XORed with a term for the time and, for
   * claims, with what the table that begins at `map` makes of the checksum of the job's state.
   */
  fields: [
    ['no', 'int4'],
    ['field', 'text'],
    ['value', 'bytea'],
    ['stamp', 'int4'],
    ['sum', 'int4'],
    ['map', 'int4'],
  ],
  goneFields: [
    ['no', 'int4'],
    ['field', 'text'],
  ],
  /** The index keys that a job gets, those with a time at their end without it. */
  indexKeys: [
    ['no', 'int4'],
    ['place', 'text'],
    ['stamp', 'int4'],
  ],
  /** The jobs to move if they still have the revision `before`. They lose all index keys but `kept`. */
  moves: [
    ['no', 'int4'],
    ['tenant_id', 'text'],
    ['key', 'text'],
    ['before', 'int8'],
    ['kept', 'text'],
    ['expiry', 'int4'],
    ['known_sum', 'int8'],
    ['revision_sum', 'int4'],
    ['stamp', 'int4'],
    ['stamp_sum', 'int4'],
    ['other', 'int4'],
    ['other_sum', 'int4'],
  ],
  /** The job types to claim from: ranges of their index keys, and how many jobs to claim. */
  types: [
    ['type_no', 'int4'],
    ['tenant_id', 'text'],
    ['task_type', 'text'],
    ['due_from', 'text'],
    ['due_to', 'text'],
    ['low', 'text'],
    ['high', 'text'],
    ['most', 'int4'],
  ],
  /** The claims of each type, numbered from 1. Nothing is claimed if the request `unless` is stored. */
  claims: [
    ['no', 'int4'],
    ['type_no', 'int4'],
    ['nth', 'int4'],
    ['request', 'text'],
    ['tenant_id', 'text'],
    ['unless', 'text'],
  ],
} as const satisfies Record<string, Input>;

export type StepInput = keyof typeof STEP_INPUTS;

/** In result rows, these take the place of the number of a job: the clock, and the types from this one downwards. */
export const CLOCK_ROW = -1;
export const FIRST_TYPE_ROW = -2;

/** Which parts a step has. */
export interface StepParts {
  moves: boolean;
  claims: boolean;
}

/** Returns the inputs of a step in the order of its parameters. */
export function inputsOf({ moves, claims }: StepParts): StepInput[] {
  return [
    ...(['stamps', 'fields', 'goneFields', 'indexKeys'] as const),
    ...(moves ? (['moves'] as const) : []),
    ...(claims ? (['types', 'claims'] as const) : []),
  ];
}

/** Reduces a sum of checksums to 32 bits. */
const reduced = (sum: string) => `((((${sum}) + 2147483648) & 4294967295) - 2147483648)::int4`;

/** With a clock that checksums cannot be computed for, the whole step has no input and does nothing. */
const CLOCK = `clock AS MATERIALIZED (
    SELECT * FROM (SELECT @tidemark_now() AS now OFFSET 0) c WHERE ${isSummedTime('c.now')}
  )`;

const stampsSql = (input: string) => `stamps AS MATERIALIZED (
    SELECT i.stamp, s.time, convert_to(s.time::text, 'UTF8') AS value, lpad(s.time::text, 15, '0') AS place,
      ${timeSum('s.time')} AS sum, ${integerSum('s.time', 'expiry')} AS expiry_sum
    FROM ${input} CROSS JOIN LATERAL (SELECT c.now + i.shift AS time FROM clock c OFFSET 0) s
  )`;

const movesSql = (input: string, afterClaims: string) => `moves AS MATERIALIZED (
    SELECT i.*, nextval('@kv_revision') AS revision FROM ${input} CROSS JOIN clock${afterClaims}
  ),
  moved AS (
    UPDATE @kv_records r SET revision = i.revision, expires_at = e.time,
      sum = ${reduced(`i.known_sum + coalesce(i.stamp_sum # a.sum, 0) + coalesce(i.other_sum # b.sum, 0)
        + (i.revision_sum # CASE WHEN e.stamp IS NULL THEN ${integerSum('i.revision', 'revision')}
          ELSE ${integerSum('i.revision', 'revision before expiry')} # e.expiry_sum END)`)}
    FROM moves i
    CROSS JOIN LATERAL (
      SELECT k.ctid AS at FROM @kv_records k
      WHERE k.tenant_id = i.tenant_id AND k.key = i.key AND k.revision = i.before LIMIT 1
    ) x
    LEFT JOIN stamps a ON a.stamp = i.stamp
    LEFT JOIN stamps b ON b.stamp = i.other
    LEFT JOIN stamps e ON e.stamp = i.expiry
    WHERE r.ctid = x.at AND r.revision = i.before
    RETURNING i.no, i.tenant_id, i.key, r.revision, i.kept
  )`;

const { table, constant } = CLAIM_SUMS.toRevision();
const REVISION_SUM = `${constant} # ${mappedSum('x.pending', `'{${[...table]}}'::int4[]`, '0')}`;

/**
 * Finds the first ready jobs of each type and locks their records. Does not stop at records that others have locked.
 * `fits` is false from the first job on that this statement cannot claim: its checksum is missing or wrong, it expires,
 * or it remembers as many requests as it can.
 */
const candidatesSql = (types: string, names: string, afterMoves: string) => `types AS MATERIALIZED (
    SELECT i.*, i.due_from IS NOT NULL AND EXISTS (
      SELECT FROM @kv_places d
      WHERE d.tenant_id = i.tenant_id AND d.place >= i.due_from AND d.place < i.due_to
        AND d.place < i.due_from || lpad((c.now + 1)::text, 15, '0')
    ) AS is_due
    FROM ${types} CROSS JOIN clock c
  ),
  candidates AS MATERIALIZED (
    SELECT t.type_no, t.tenant_id, p.*
    FROM types t CROSS JOIN LATERAL (
      SELECT row_number() OVER w AS nth, bool_and(l.is_fit) OVER w AS fits, l.*
      FROM (
        SELECT k.*, f.*, coalesce(
            k.expires_at IS NULL AND f.is_summed
            AND coalesce(json_array_length(k.requests::json), 0) < ${REMEMBERED_REQUESTS}
            AND k.sum = ${reduced(`f.total + (f.revision_sum # ${integerSum('k.revision', 'revision')})`)},
            false
          ) AS is_fit
        FROM (
          SELECT p.key, s.*
          FROM @kv_places p
          CROSS JOIN LATERAL (
            SELECT x.ctid AS at, x.revision, x.sum, x.requests, x.expires_at FROM @kv_records x
            WHERE x.tenant_id = t.tenant_id AND x.key = p.key LIMIT 1
          ) s
          -- Only the record is locked. Another writer may have changed it since the index was read.
          JOIN @kv_records r ON r.ctid = s.at AND r.revision = s.revision
          WHERE p.tenant_id = t.tenant_id AND p.place >= t.low AND p.place < t.high
          ORDER BY p.place, p.key LIMIT t.most
          FOR UPDATE OF r SKIP LOCKED
        ) k
        CROSS JOIN LATERAL (
          SELECT x.*, ${REVISION_SUM} AS revision_sum
          FROM (
            SELECT max(x.sum) FILTER (WHERE x.field = '${CLAIMABLE.field}' AND x.value = '${CLAIMABLE.value}') AS pending,
              count(*) = count(x.sum) AS is_summed, sum(x.sum::int8)::int8 AS total,
              coalesce(sum(x.sum::int8) FILTER (WHERE x.field = ANY (${names})), 0)::int8 AS replaced,
              array_agg(x.field) AS names, array_agg(x.ctid) AS ats, string_agg(
                int4send(coalesce(x.sum, 0)) || int4send(octet_length(x.field)) || convert_to(x.field, 'UTF8')
                || int4send(octet_length(x.value)) || x.value,
                ''::bytea
              ) AS fields
            FROM @kv_fields x WHERE x.tenant_id = t.tenant_id AND x.key = k.key
          ) x
        ) f
      ) l
      WINDOW w AS (ROWS UNBOUNDED PRECEDING)
    ) p
    WHERE NOT t.is_due${afterMoves}
  ),
  taken AS MATERIALIZED (
    SELECT c.no, p.*, nextval('@kv_revision') AS next,
      coalesce(left(p.requests, -1) || ',', '[') || c.request || ']' AS remembered
    FROM open_claims c JOIN candidates p ON p.type_no = c.type_no AND p.nth = c.nth WHERE p.fits
  )`;

/** The claims that no retry has closed. Waits for retries that are closing claims, before any row is locked. */
const openClaimsSql = (claims: string, closed: string) => `open_claims AS MATERIALIZED (
    SELECT i.* FROM ${claims} CROSS JOIN (SELECT ${closed} AS ids OFFSET 0) x WHERE NOT i.unless = ANY (x.ids)
  )`;

const CLAIMED = `claimed AS (
    UPDATE @kv_records r SET revision = t.next, expires_at = NULL, requests = t.remembered,
      sum = ${reduced(`t.total - t.replaced + n.total + (t.revision_sum # ${integerSum('t.next', 'revision')})`)}
    FROM taken t JOIN (SELECT f.no, sum(f.sum::int8)::int8 AS total FROM new_fields f GROUP BY f.no) n ON n.no = t.no
    WHERE r.ctid = t.at
    RETURNING t.no, t.tenant_id, t.key, t.next, t.remembered, r.sum, t.fields, t.names, t.ats
  )`;

/** The fields that the jobs have after the step. */
const newFieldsSql = (fields: string, maps: string | null) => `new_fields AS MATERIALIZED (
    SELECT i.no, i.field, coalesce(i.value, s.value) AS value, i.sum # coalesce(s.sum, 0)${
      maps === null ? '' : ` # CASE WHEN i.map IS NULL THEN 0 ELSE ${mappedSum('t.pending', maps, 'i.map')} END`
    } AS sum
    FROM ${fields} LEFT JOIN stamps s ON s.stamp = i.stamp${
      maps === null ? '' : ' LEFT JOIN taken t ON t.no = i.no WHERE i.map IS NULL OR t.no IS NOT NULL'
    }
  )`;

/** The fields that the jobs had before the step. A record and its fields change only under the record's lock. */
const OLD_FIELDS = {
  moves: `SELECT m.no, x.field, x.at FROM moved m CROSS JOIN LATERAL (
      SELECT f.field, f.ctid AS at FROM @kv_fields f WHERE f.tenant_id = m.tenant_id AND f.key = m.key OFFSET 0
    ) x`,
  claims: 'SELECT c.no, x.field, x.at FROM claimed c CROSS JOIN LATERAL unnest(c.names, c.ats) AS x (field, at)',
};

const DONE = {
  moves: 'SELECT no, tenant_id, key, kept FROM moved',
  claims: 'SELECT no, tenant_id, key, NULL FROM claimed',
};

/** The changes that follow from the records that were written. */
const followingSql = (gone: string, indexKeys: string) => `fields_to_write AS MATERIALIZED (
    SELECT d.tenant_id, d.key, f.field, f.value, f.sum, o.at
    FROM new_fields f JOIN done d ON d.no = f.no LEFT JOIN old_fields o ON o.no = f.no AND o.field = f.field
  ),
  fields_changed AS (
    UPDATE @kv_fields t SET value = f.value, sum = f.sum FROM fields_to_write f WHERE t.ctid = f.at
  ),
  fields_added AS (
    INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
    SELECT f.tenant_id, f.key, f.field, f.value, f.sum FROM fields_to_write f WHERE f.at IS NULL
  ),
  fields_removed AS (
    DELETE FROM @kv_fields WHERE ctid = ANY (ARRAY(
      SELECT o.at FROM ${gone} JOIN old_fields o ON o.no = i.no AND o.field = i.field
    ))
  ),
  places_removed AS (
    DELETE FROM @kv_places WHERE ctid = ANY (ARRAY(
      SELECT x.at FROM done d CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM @kv_places t
        WHERE t.tenant_id = d.tenant_id AND t.key = d.key AND t.place IS DISTINCT FROM d.kept OFFSET 0
      ) x
    ))
  ),
  places_added AS (
    INSERT INTO @kv_places (tenant_id, place, key)
    SELECT d.tenant_id, i.place || coalesce(s.place, ''), d.key
    FROM ${indexKeys} JOIN done d ON d.no = i.no LEFT JOIN stamps s ON s.stamp = i.stamp
  )`;

/**
 * The result: number, revision, key, request ids, checksum and previous fields of each job; the clock; and for each
 * type whether delayed jobs are due (1), or there are jobs left that this statement could not claim (2).
 */
const RESULTS = {
  moves: 'SELECT no, revision, NULL::text, NULL::text, NULL::int4, NULL::bytea FROM moved',
  claims: `SELECT no, next, key, remembered, sum, fields FROM claimed
  UNION ALL
  SELECT ${FIRST_TYPE_ROW} - t.type_no, CASE
      WHEN t.is_due THEN 1
      WHEN EXISTS (SELECT FROM candidates c WHERE c.type_no = t.type_no AND NOT c.fits) THEN 2
      WHEN t.most > (SELECT count(*) FROM candidates c WHERE c.type_no = t.type_no) AND (
        SELECT count(*) FROM candidates c WHERE c.type_no = t.type_no
      ) < (
        SELECT count(*) FROM (
          SELECT FROM @kv_places p WHERE p.tenant_id = t.tenant_id AND p.place >= t.low AND p.place < t.high LIMIT t.most
        ) x
      ) THEN 2
      ELSE 0
    END, NULL, NULL, NULL, NULL
  FROM types t`,
  clock: `SELECT ${CLOCK_ROW}, c.now, set_config('synchronous_commit', 'on', true), NULL, NULL, NULL FROM clock c`,
};

/**
 * Returns the statement of a step. With claims, two parameters follow the inputs: the fields that claims write, and the
 * tables of checksums.
 */
export function jobStepSql(has: StepParts): string {
  let parameters = 0;
  const inputs = Object.fromEntries(
    inputsOf(has).map((name) => {
      const arrays = STEP_INPUTS[name].map(([column, type]) => [column, `$${++parameters}::${type}[]`] as const);
      const columns = arrays.map(([column]) => column).join(', ');
      const sql = `unnest(${arrays.map(([, array]) => array).join(', ')}) AS i (${columns})`;
      return [name, { sql, arrays: Object.fromEntries(arrays) }] as const;
    }),
  ) as Record<StepInput, { sql: string; arrays: Record<string, string> }>;
  const kinds = (['moves', 'claims'] as const).filter((kind) => has[kind]);
  const parts = [CLOCK, stampsSql(inputs.stamps.sql)];
  if (has.claims) {
    const { types, claims } = inputs;
    const locks = `${types.arrays.tenant_id}, ${types.arrays.task_type}`;
    const requests = `${claims.arrays.tenant_id}, ${claims.arrays.unless}`;
    parts.push(openClaimsSql(claims.sql, `@closed_claims(${locks}, ${requests})`));
  }
  if (has.moves)
    parts.push(movesSql(inputs.moves.sql, has.claims ? ' WHERE (SELECT count(*) FROM open_claims) >= 0' : ''));
  if (has.claims) {
    const afterMoves = has.moves ? ' AND (SELECT count(*) FROM moved) >= 0' : '';
    parts.push(candidatesSql(inputs.types.sql, `$${parameters + 1}::text[]`, afterMoves));
  }
  parts.push(newFieldsSql(inputs.fields.sql, has.claims ? `$${parameters + 2}::int4[]` : null));
  if (has.claims) parts.push(CLAIMED);
  parts.push(
    `done (no, tenant_id, key, kept) AS MATERIALIZED (${kinds.map((kind) => DONE[kind]).join(' UNION ALL ')})`,
    `old_fields AS MATERIALIZED (${kinds.map((kind) => OLD_FIELDS[kind]).join(' UNION ALL ')})`,
    followingSql(inputs.goneFields.sql, inputs.indexKeys.sql),
  );
  const results = [...kinds, 'clock' as const].map((kind) => RESULTS[kind]);
  return `
  WITH ${parts.join(',\n  ')}
  ${results.join('\n  UNION ALL\n  ')}`;
}
