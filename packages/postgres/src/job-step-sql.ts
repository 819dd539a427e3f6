/**
 * The statement that moves jobs which this process holds and claims others, in one round trip (KV-7). The server takes
 * the time and the revisions, and chooses the jobs to claim. Rows of moved jobs are locked in the order of their keys
 * first; claims skip rows that others have locked, so they never wait.
 */
import { REMEMBERED_REQUESTS, TIME_DIGITS } from '@tidemark/core/engine';
import type { ElementType } from './binary-arrays.ts';
import { integerSum, isSummedTime, mappedSum, SumMaps, timeSum } from './checksum-sql.ts';

/** The state of a job that can be claimed. */
export const CLAIMABLE = { field: 'state', value: Buffer.from('pending') } as const;

/** Checksums of a claimed job are computed from that of its state before the claim. */
export const CLAIM_SUMS = new SumMaps(CLAIMABLE);

type Input = readonly (readonly [name: string, type: ElementType])[];

/** The tables of the input. `no` is the number of a job in the step, `stamp` that of a time. */
export const STEP_INPUTS = {
  /**
   * The fields that a job gets: a value, or a time. `sum` is its checksum, to be XORed with a term for the time and,
   * for claims, with the result of applying the table at `map` to the checksum of the job's state.
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
  /** The index keys that a job gets. Keys that end with a time are stored without it. */
  indexKeys: [
    ['no', 'int4'],
    ['place', 'text'],
    ['stamp', 'int4'],
  ],
  /**
   * The jobs to move if they still have the revision `before`. They lose all index keys but `kept`. `before_sum` is their
   * checksum: after the server was restored from a backup, it assigns the same revisions to other changes.
   */
  moves: [
    ['no', 'int4'],
    ['tenant_id', 'text'],
    ['key', 'text'],
    ['before', 'int8'],
    ['before_sum', 'int4'],
    ['kept', 'text'],
    ['expiry', 'int4'],
    ['known_sum', 'int8'],
    ['revision_sum', 'int4'],
    ['stamp', 'int4'],
    ['stamp_sum', 'int4'],
    ['other', 'int4'],
    ['other_sum', 'int4'],
  ],
  /** The claims, numbered from 1. A claim whose request `unless` is stored is not made. */
  claims: [
    ['no', 'int4'],
    ['nth', 'int4'],
    ['request', 'text'],
    ['unless', 'text'],
  ],
} as const satisfies Record<string, Input>;

export type StepInput = keyof typeof STEP_INPUTS;

/** The parameters of claims: where to find jobs, the claims' `unless`, the fields they write, and tables of checksums. */
const CLAIM_PARAMETERS = {
  tenant: 'text',
  type: 'text',
  dueFrom: 'text',
  dueTo: 'text',
  low: 'text',
  high: 'text',
  most: 'int4',
  ids: 'text[]',
  names: 'text[]',
  maps: 'int4[]',
} as const;
type ClaimParameter = keyof typeof CLAIM_PARAMETERS;

/** In the row of the clock, this replaces the number of a job. */
export const CLOCK_ROW = -1;

/** Claims have got all ready jobs or as many as they want, met due delayed jobs, or left jobs to other ways. */
export const STEP_FOUND = { all: 0, due: 1, others: 2 } as const;

/** Which parts a step has. */
export interface StepParts {
  moves: boolean;
  claims: boolean;
}

/** Returns the inputs of a step in the order of its parameters. */
export function inputsOf({ moves, claims }: StepParts): StepInput[] {
  return [
    ...(['fields', 'goneFields', 'indexKeys'] as const),
    ...(moves ? (['moves'] as const) : []),
    ...(claims ? (['claims'] as const) : []),
  ];
}

/** Reduces a sum of checksums to 32 bits. */
const reduced = (sum: string) => `((((${sum}) + 2147483648) & 4294967295) - 2147483648)::int4`;

/** If checksums cannot be computed for the time of the clock, the whole step has no input and does nothing. */
const CLOCK = `clock AS MATERIALIZED (
    SELECT * FROM (SELECT @tidemark_now() AS now OFFSET 0) c WHERE ${isSummedTime('c.now')}
  )`;

/** The times of the step in one row of arrays, so that no other part needs a join for them. */
const timesSql = (shifts: string) => `times AS MATERIALIZED (
    SELECT array_agg(s.time) AS times, array_agg(convert_to(s.time::text, 'UTF8')) AS texts,
      array_agg(lpad(s.time::text, ${TIME_DIGITS}, '0')) AS places, array_agg(${timeSum('s.time')}) AS sums,
      array_agg(${integerSum('s.time', 'expiry')}) AS expiry_sums
    FROM (SELECT c.now + i.shift AS time FROM clock c CROSS JOIN unnest(${shifts}) AS i (shift) OFFSET 0) s
  )`;

const movesSql = (input: string, afterClaims: string) => `moves AS MATERIALIZED (
    SELECT i.*, t.times[i.expiry] AS expires_at, t.expiry_sums[i.expiry] AS expiry_sum, nextval('@kv_revision') AS revision,
      i.known_sum + coalesce(i.stamp_sum # t.sums[i.stamp], 0) + coalesce(i.other_sum # t.sums[i.other], 0) AS field_sums
    FROM ${input} CROSS JOIN times t WHERE t.times IS NOT NULL${afterClaims}
  ),
  moved AS (
    UPDATE @kv_records r SET revision = i.revision, expires_at = i.expires_at,
      sum = ${reduced(`i.field_sums + (i.revision_sum # CASE WHEN i.expiry IS NULL THEN ${integerSum('i.revision', 'revision')}
        ELSE ${integerSum('i.revision', 'revision before expiry')} # i.expiry_sum END)`)}
    FROM moves i
    CROSS JOIN LATERAL (
      SELECT k.ctid AS at FROM @kv_records k
      WHERE k.tenant_id = i.tenant_id AND k.key = i.key AND k.revision = i.before AND k.sum = i.before_sum LIMIT 1
    ) x
    WHERE r.ctid = x.at AND r.revision = i.before
    RETURNING i.no, i.tenant_id, i.key, r.revision, r.sum, i.kept
  )`;

const { table, constant } = CLAIM_SUMS.toRevision();
const REVISION_SUM = `${constant} # ${mappedSum('x.pending', `'{${[...table]}}'::int4[]`, '0')}`;

/**
 * Returns SQL for whether a request id can be appended to the ids of a record. A cast to `json` would fail for a damaged
 * column, and with it every claim of the type.
 */
const canRemember = (requests: string) => `coalesce(
            ${requests} ~ '^\\["[^"\\\\[:cntrl:]]*"(,"[^"\\\\[:cntrl:]]*")*\\]$'
            AND cardinality(string_to_array(${requests}, '","')) < ${REMEMBERED_REQUESTS},
            true
          )`;

/**
 * Finds the first ready jobs of the type and locks their records. Does not stop at records that others have locked.
 * `fits` is false from the first job onwards that this statement cannot claim: its checksum is missing or wrong, it
 * expires, or it cannot remember another request.
 */
const candidatesSql = (it: Record<ClaimParameter, string>, after: string) => `due AS MATERIALIZED (
    SELECT ${it.dueFrom} IS NOT NULL AND EXISTS (
      SELECT FROM @kv_places d
      WHERE d.tenant_id = ${it.tenant} AND d.place >= ${it.dueFrom} AND d.place < ${it.dueTo}
        AND d.place < ${it.dueFrom} || lpad((c.now + 1)::text, ${TIME_DIGITS}, '0')
    ) AS is_due
    FROM clock c
  ),
  candidates AS MATERIALIZED (
    SELECT row_number() OVER w AS nth, bool_and(l.is_fit) OVER w AS fits, l.*
    FROM (
      SELECT k.*, f.*, coalesce(
          k.expires_at IS NULL AND f.is_summed
          AND ${canRemember('k.requests')}
          AND k.sum = ${reduced(`f.total + (f.revision_sum # ${integerSum('k.revision', 'revision')})`)},
          false
        ) AS is_fit
      FROM (
        SELECT p.key, s.*
        FROM @kv_places p
        CROSS JOIN LATERAL (
          SELECT x.ctid AS at, x.revision, x.sum, x.requests, x.expires_at FROM @kv_records x
          WHERE x.tenant_id = ${it.tenant} AND x.key = p.key LIMIT 1
        ) s
        -- Only the record is locked. Another writer may have changed it since the index was read.
        JOIN @kv_records r ON r.ctid = s.at AND r.revision = s.revision
        WHERE p.tenant_id = ${it.tenant} AND p.place >= ${it.low} AND p.place < ${it.high}
          AND NOT (SELECT is_due FROM due) AND (SELECT count(*) FROM ${after}) >= 0
        ORDER BY p.place, p.key LIMIT ${it.most}
        FOR UPDATE OF r SKIP LOCKED
      ) k
      CROSS JOIN LATERAL (
        SELECT x.*, ${REVISION_SUM} AS revision_sum
        FROM (
          SELECT max(x.sum) FILTER (WHERE x.field = '${CLAIMABLE.field}' AND x.value = '${CLAIMABLE.value}') AS pending,
            count(*) = count(x.sum) AS is_summed, sum(x.sum::int8)::int8 AS total,
            coalesce(sum(x.sum::int8) FILTER (WHERE x.field = ANY (${it.names})), 0)::int8 AS replaced,
            string_agg(
              int4send(coalesce(x.sum, 0)) || int4send(octet_length(x.field)) || convert_to(x.field, 'UTF8')
              || int4send(octet_length(x.value)) || x.value,
              ''::bytea
            ) AS fields
          FROM @kv_fields x WHERE x.tenant_id = ${it.tenant} AND x.key = k.key
        ) x
      ) f
    ) l
    WINDOW w AS (ROWS UNBOUNDED PRECEDING)
  ),
  taken AS MATERIALIZED (
    SELECT c.no, p.*, nextval('@kv_revision') AS next,
      coalesce(left(p.requests, -1) || ',', '[') || c.request || ']' AS remembered
    FROM open_claims c JOIN candidates p ON p.nth = c.nth WHERE p.fits
  )`;

/** The claims that no retry has closed. Waits for retries that are closing claims, before any row is locked. */
const openClaimsSql = (claims: string, closed: string) => `open_claims AS MATERIALIZED (
    SELECT i.* FROM ${claims} WHERE NOT i.unless = ANY ((SELECT ${closed})::text[])
  )`;

const CLAIMED = `claimed AS (
    UPDATE @kv_records r SET revision = t.next, expires_at = NULL, requests = t.remembered,
      sum = ${reduced(`t.total - t.replaced + n.total + (t.revision_sum # ${integerSum('t.next', 'revision')})`)}
    FROM taken t JOIN (SELECT f.no, sum(f.sum::int8)::int8 AS total FROM new_fields f GROUP BY f.no) n ON n.no = t.no
    WHERE r.ctid = t.at
    RETURNING t.no, r.tenant_id, t.key, t.next, t.remembered, r.sum, t.fields
  )`;

/** The fields that the jobs have after the step. */
const newFieldsSql = (fields: string, maps: string | null) => `new_fields AS MATERIALIZED (
    SELECT i.no, i.field, coalesce(i.value, s.texts[i.stamp]) AS value, i.sum # coalesce(s.sums[i.stamp], 0)${
      maps === null ? '' : ` # CASE WHEN i.map IS NULL THEN 0 ELSE ${mappedSum('t.pending', maps, 'i.map')} END`
    } AS sum
    FROM ${fields} CROSS JOIN times s${
      maps === null ? '' : ' LEFT JOIN taken t ON t.no = i.no WHERE i.map IS NULL OR t.no IS NOT NULL'
    }
  )`;

const DONE = {
  moves: 'SELECT no, tenant_id, key, kept FROM moved',
  claims: 'SELECT no, tenant_id, key, NULL FROM claimed',
};

const followingSql = (gone: string, indexKeys: string) => `fields_saved AS (
    INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
    SELECT d.tenant_id, d.key, f.field, f.value, f.sum FROM new_fields f JOIN done d ON d.no = f.no
    ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value, sum = excluded.sum
  ),
  fields_removed AS (
    DELETE FROM @kv_fields WHERE ctid = ANY (ARRAY(
      SELECT x.at FROM ${gone} JOIN done d ON d.no = i.no CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM @kv_fields t
        WHERE t.tenant_id = d.tenant_id AND t.key = d.key AND t.field = i.field LIMIT 1
      ) x
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
    SELECT d.tenant_id, i.place || coalesce(t.places[i.stamp], ''), d.key
    FROM ${indexKeys} JOIN done d ON d.no = i.no CROSS JOIN times t
  )`;

/** How many ready jobs there are, up to as many as are claimed. More than were found are locked by other writers. */
const countSql = (it: Record<ClaimParameter, string>) => `CASE
      WHEN d.is_due THEN ${STEP_FOUND.due}
      WHEN EXISTS (SELECT FROM candidates c WHERE NOT c.fits) OR (SELECT count(*) FROM candidates c) < (
        SELECT count(*) FROM (
          SELECT FROM @kv_places p
          WHERE p.tenant_id = ${it.tenant} AND p.place >= ${it.low} AND p.place < ${it.high} LIMIT ${it.most}
        ) x
      ) THEN ${STEP_FOUND.others}
      ELSE ${STEP_FOUND.all}
    END`;

/**
 * Returns the statement of a step. With claims, its last parameters are those of `CLAIM_PARAMETERS`.
 *
 * The result: number, revision, key, request ids, checksum and previous fields of each job; and the clock, with what was
 * found instead of a checksum.
 */
export function jobStepSql(has: StepParts): string {
  let parameters = 1;
  const inputs = Object.fromEntries(
    inputsOf(has).map((name) => {
      const columns = STEP_INPUTS[name].map(([column]) => column).join(', ');
      const arrays = STEP_INPUTS[name].map(([, type]) => `$${++parameters}::${type}[]`).join(', ');
      return [name, `unnest(${arrays}) AS i (${columns})`] as const;
    }),
  ) as Record<StepInput, string>;
  const claim = Object.fromEntries(
    Object.entries(CLAIM_PARAMETERS).map(([name, type]) => [name, `$${++parameters}::${type}`]),
  ) as Record<ClaimParameter, string>;
  const parts = [CLOCK, timesSql('$1::int8[]')];
  if (has.claims)
    parts.push(openClaimsSql(inputs.claims, `@closed_claims(${claim.tenant}, ${claim.type}, ${claim.ids})`));
  if (has.moves) parts.push(movesSql(inputs.moves, has.claims ? ' AND (SELECT count(*) FROM open_claims) >= 0' : ''));
  if (has.claims) parts.push(candidatesSql(claim, has.moves ? 'moved' : 'open_claims'));
  parts.push(newFieldsSql(inputs.fields, has.claims ? claim.maps : null));
  if (has.claims) parts.push(CLAIMED);
  const kinds = (['moves', 'claims'] as const).filter((kind) => has[kind]);
  parts.push(
    `done (no, tenant_id, key, kept) AS MATERIALIZED (${kinds.map((kind) => DONE[kind]).join(' UNION ALL ')})`,
    followingSql(inputs.goneFields, inputs.indexKeys),
  );
  const found = has.claims ? countSql(claim) : 'NULL::int4';
  const results = [
    ...kinds.map((kind) => RESULTS[kind]),
    `SELECT ${CLOCK_ROW}, c.now, set_config('synchronous_commit', 'on', true), NULL, ${found}, NULL::bytea
  FROM clock c${has.claims ? ' CROSS JOIN due d' : ''}`,
  ];
  return `
  WITH ${parts.join(',\n  ')}
  ${results.join('\n  UNION ALL\n  ')}`;
}

/** The rows of the result for jobs: number, revision, key, request ids, checksum and previous fields. */
const RESULTS = {
  moves: 'SELECT no, revision, NULL::text, NULL::text, sum, NULL::bytea FROM moved',
  claims: 'SELECT no, next, key, remembered, sum, fields FROM claimed',
};
