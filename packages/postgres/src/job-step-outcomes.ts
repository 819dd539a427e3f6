/** Decodes the result of the statement of a step of jobs, and verifies the jobs that the server has claimed. */
import {
  type FirstClaim,
  type FirstClaimed,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  recordAfter,
  type ScannedRecord,
} from '@tidemark/core/engine';
import {
  changedBy,
  integerOf,
  type MadeChange,
  recordStart,
  recordSum,
  requestsIn,
  type Seen,
  type SqlInteger,
  storedRecord,
} from '@tidemark/sql';
import type { FieldValue } from './checksum-sql.ts';
import type { HeldJob } from './held-jobs.ts';

/** The outcome of a move; `raced` if the job is no longer as this process knew it. */
export type MoveOutcome = { outcome: RecordOutcome; change: MadeChange; after: HeldJob } | 'raced';

/** A job that was claimed, and found to be damaged after that. */
export interface DamagedClaim {
  /** The index of the claim in the step. */
  at: number;
  name: RecordName;
  revision: number;
  /** The stored rows before the claim, with their checksums. */
  before: readonly (FieldValue & { sum: number })[];
  requests: readonly string[];
}

export interface StepOutcome {
  moves: MoveOutcome[];
  claims: FirstClaimed | null;
  /** The jobs that were claimed, by name. */
  claimed: { name: RecordName; job: HeldJob; change: MadeChange }[];
  damaged: DamagedClaim[];
}

export type StepRow = readonly [
  no: number,
  revision: SqlInteger,
  key: string | null,
  requests: string | null,
  sum: number | null,
  fields: Buffer | null,
];

/** Returns the outcome of a move that the server has made, and the job as it is now stored. */
export function movedJob(
  write: RecordWrite,
  { state, requests }: HeldJob,
  [, revisionText, , , sum]: StepRow,
  now: number,
): MoveOutcome {
  const revision = integerOf(revisionText);
  const seen: Seen = { state, hasFields: true, storedRevision: state.revision, requests, now };
  const { after, change } = changedBy(write, seen, revision, now);
  const outcome = { applied: true, existed: true, record: storedRecord(after.state!, now) };
  return { outcome, change, after: { state: after.state!, requests: after.requests, sum: sum! } };
}

/**
 * Returns the claimed record, or `null` if it is damaged. Adds it to the result. The server has computed the checksums
 * from others, without reading the values that they cover, so damage shows only here.
 */
export function claimedJob(
  tenantId: string,
  { at, write: { set, stamps } }: { at: number; write: FirstClaim },
  [, revisionText, keyText, requestsText, sum, rows]: StepRow,
  now: number,
  result: StepOutcome,
): ScannedRecord | null {
  const [revision, key, requests] = [integerOf(revisionText), keyText!, requestsIn(requestsText)];
  const name: RecordName = { space: 'kv', tenantId, key };
  const stored = storedFields(rows!);
  const fields = new Map(stored.map(({ field, value }) => [field, value]));
  const before = { fields, revision: 0, expiresAt: null };
  const state = recordAfter({ name, mode: 'merge', set, stamps, ttlMs: null }, before, revision, now)!;
  if (recordSum(recordStart(tenantId, key), state) !== sum) {
    result.damaged.push({ at, name, revision, before: stored, requests: requests.slice(0, -1) });
    return null;
  }
  const record = storedRecord(state, now);
  const change: MadeChange = { tenantId, key, type: 'put', record, revision, expiresAt: null };
  result.claimed.push({ name, job: { state, requests, sum }, change });
  return { key, ...record };
}

/** Decodes the rows of the fields of a record: each checksum, name and value. */
function storedFields(bytes: Buffer): DamagedClaim['before'] {
  const fields: (FieldValue & { sum: number })[] = [];
  let at = 0;
  const next = () => {
    const size = bytes.readInt32BE(at);
    at += 4 + size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const sum = bytes.readInt32BE(at);
    at += 4;
    fields.push({ sum, field: next().toString(), value: next() });
  }
  return fields;
}
