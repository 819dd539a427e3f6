/**
 * Conditional steps on records inside a transaction: read, decide by the rules that all engines share, and write.
 * Fields are read only when the step needs them.
 */
import {
  corruptValue,
  jobTypeOf,
  meets,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  recordAfter,
  requestName,
  requestsAfter,
  type StoredRecord,
  startsAnew,
  withAnswer,
} from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction } from '../database.ts';
import { answerOf, keepAnswers, keepNewAnswer } from '../requests.ts';
import { integerOf, type SqlInteger } from '../values.ts';
import { lookAtAnswer, saveAnswer } from './answers.ts';
import { Raced } from './races.ts';
import { NOW_IF_EXPIRING, stateOf, storedRecord } from './rows.ts';
import type { Looked, Seen } from './seen.ts';
import { isIntact, recordStart, recordSum } from './sums.ts';
import { moveIndexKeys, OF_RECORD, REMOVE_FIELDS, REMOVE_RECORD, writeFields } from './writing.ts';

/** A change with its tenant, for watchers. */
export interface MadeChange extends RecordChange {
  tenantId: string;
  /** Revision of the change. Removals also have a revision. */
  revision: number;
  expiresAt: number | null;
}

/** A stored record joined with one of its fields. */
export interface RecordRow {
  revision: SqlInteger;
  expires_at: SqlInteger | null;
  requests: string | null;
  sum: number | null;
  now: SqlInteger;
  field: string | null;
  value: Uint8Array | null;
}

const LOOK = `
  SELECT revision, expires_at, requests, sum, ${NOW_IF_EXPIRING}, NULL AS field, NULL AS value FROM @kv_records ${OF_RECORD}`;

const LOOK_WITH_FIELDS = `
  SELECT record.revision, record.expires_at, record.requests, record.sum, ${NOW_IF_EXPIRING}, kv_field.field, kv_field.value
    FROM @kv_records AS record
    LEFT JOIN @kv_fields AS kv_field ON kv_field.tenant_id = record.tenant_id AND kv_field.key = record.key
   WHERE record.tenant_id = ? AND record.key = ?`;

/** Inserts a record that was absent when read. Writes nothing when another writer was faster. */
const MAKE_RECORD = `
  INSERT INTO @kv_records (revision, expires_at, requests, sum, tenant_id, key)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, key) DO NOTHING`;

/** Changes a stored record. Writes nothing when its revision has changed since it was read. Cheaper than an upsert. */
const MOVE_RECORD = `
  UPDATE @kv_records SET revision = ?, expires_at = ?, requests = ?, sum = ?
  WHERE tenant_id = ? AND key = ? AND revision = ?`;

/**
 * Reads whole records for later steps in the same transaction. Existing records then cannot change until the
 * transaction ends.
 */
export async function lookAt(db: SqlDatabase, tx: SqlTransaction, names: readonly RecordName[]): Promise<Looked> {
  const seen: Looked = new Map();
  for (const name of names) {
    const one = await look(db, tx, name, true);
    if (one.damaged) throw corruptValue('record', name.key);
    seen.set(idOf(name), one);
  }
  return seen;
}

/** Returns a record as it was read. */
export function recordIn(looked: Looked, name: RecordName): StoredRecord | null {
  const { state, now } = looked.get(idOf(name))!;
  return state ? storedRecord(state, now) : null;
}

/** Applies several steps, all or none. Returns the outcome of each and the changes. */
export async function takeSteps(
  db: SqlDatabase,
  tx: SqlTransaction,
  writes: readonly RecordWrite[],
  looked: Looked = new Map(),
): Promise<{ outcomes: RecordOutcome[]; changes: MadeChange[] }> {
  const seen = new Map(looked);
  const ids = writes.map(({ name }) => idOf(name));
  for (const [at, write] of writes.entries()) {
    let found = seen.get(ids[at]!);
    if (!found || (needsFields(write) && !found.hasFields)) {
      found = await look(db, tx, write.name, needsFields(write));
      seen.set(ids[at]!, found);
    }
    if (found.damaged && !startsAnew(write)) throw corruptValue('record', write.name.key);
  }
  const answered: boolean[] = [];
  for (const [at, write] of writes.entries()) answered.push(await isAnswered(tx, write, seen.get(ids[at]!)!));
  const holds = writes.every((write, at) => answered[at] || meets(write, seen.get(ids[at]!)!.state));
  const outcomes: RecordOutcome[] = [];
  const changes: MadeChange[] = [];
  for (const [at, write] of writes.entries()) {
    const before = seen.get(ids[at]!)!;
    let after = before;
    if (holds && !answered[at]) {
      after = await change(db, tx, withAnswer(write, outcomes), before, changes);
    } else if (before.state && !before.hasFields && !write.brief) {
      after = await look(db, tx, write.name, true);
    }
    seen.set(ids[at]!, after);
    const record = after.state ? storedRecord(after.state, after.now) : null;
    const existed = before.state !== undefined || (answered[at] === true && write.mode === 'delete');
    outcomes.push({ applied: holds, record, existed });
  }
  return { outcomes, changes };
}

/** Returns whether this request has already been executed. Checked after the record is locked, if it exists. */
async function isAnswered(tx: SqlTransaction, write: RecordWrite, { requests }: Seen): Promise<boolean> {
  const { name, requestId, requestIsNew } = write;
  if (requestId === undefined || requestIsNew) return false;
  return requests.includes(requestId) || (await answerOf(tx, name.tenantId, requestName(name, requestId).key)) !== null;
}

/** Whether a step needs the fields of the record. A job's fields determine its index keys. */
export function needsFields(write: RecordWrite): boolean {
  return write.mode === 'merge' || jobTypeOf(write.name.key) !== null || (write.expect?.fields?.size ?? 0) > 0;
}

async function look(db: SqlDatabase, tx: SqlTransaction, name: RecordName, withFields: boolean): Promise<Seen> {
  if (name.space === 'requests') return lookAtAnswer(db, tx, name);
  const params = [name.tenantId, name.key];
  // Locks in a separate statement, because a joined statement that waits for the lock would miss fields added in the
  // meantime.
  if (!withFields) return seenRows(name, await tx.all<RecordRow>(LOOK + db.forUpdate, params), false);
  if (db.forUpdate !== '') await tx.all(LOOK + db.forUpdate, params);
  return seenRows(name, await tx.all<RecordRow>(LOOK_WITH_FIELDS, params), true);
}

/** Converts the rows of one record. Verifies its checksum if the rows contain its fields. */
export function seenRows({ tenantId, key }: RecordName, rows: readonly RecordRow[], hasFields: boolean): Seen {
  const row = rows[0];
  if (!row) return { state: undefined, hasFields, storedRevision: 0, requests: [], now: 0 };
  const state = stateOf(rows);
  const [now, { revision, expiresAt }] = [integerOf(row.now), state];
  const requests = intactRequestsIn(row.requests);
  const seen = { hasFields, storedRevision: revision, requests: requests ?? [], now };
  if (requests === null || (hasFields && !isIntact(tenantId, key, state, row.sum)))
    return { state: { ...state, fields: new Map() }, ...seen, damaged: true };
  return expiresAt !== null && expiresAt <= now ? { state: undefined, ...seen } : { state, ...seen };
}

/** Parses the request ids in the column of a record. */
export function requestsIn(column: string | null): string[] {
  return column === null ? [] : (JSON.parse(column) as string[]);
}

/** Returns `null` for a damaged column: the checksum of a record does not cover it. */
function intactRequestsIn(column: string | null): string[] | null {
  try {
    return requestsIn(column);
  } catch {
    return null;
  }
}

/** The state of a record after a step that changes it. */
interface Changed {
  after: Seen;
  change: MadeChange;
  /** The request ids that leave the record. */
  left: readonly string[];
}

/** Whether the record is absent and the step leaves it absent. */
export function staysAbsent(write: RecordWrite, before: Seen): boolean {
  return !before.state && recordAfter(write, undefined, 1, 0) === null;
}

/** Computes what a step changes. Every change has its own revision, including removals. */
export function changedBy(write: RecordWrite, before: Seen, revision: number, now: number): Changed {
  const { tenantId, key } = write.name;
  const state = recordAfter(write, before.state, revision, now) ?? undefined;
  const { held, left } = requestsAfter(before.requests, write.requestId, state !== undefined);
  const record = state ? storedRecord(state, now) : null;
  const expiresAt = state?.expiresAt ?? null;
  return {
    after: { state, hasFields: true, storedRevision: state ? revision : 0, requests: held, now },
    change: { tenantId, key, type: state ? 'put' : 'delete', record, revision, expiresAt },
    left,
  };
}

/** Formats the request ids for the column of a record. */
export function requestsColumn(requests: readonly string[]): string | null {
  return requests.length === 0 ? null : JSON.stringify(requests);
}

/** Writes the result of the step. */
async function change(
  db: SqlDatabase,
  tx: SqlTransaction,
  write: RecordWrite,
  before: Seen,
  changes: MadeChange[],
): Promise<Seen> {
  const { tenantId, key } = write.name;
  if (write.name.space === 'requests') return saveAnswer(tx, write, before);
  if (staysAbsent(write, before)) return before;
  const [next] = await tx.all<{ revision: SqlInteger; now: SqlInteger }>(db.revisions.next, []);
  const [revision, now] = [integerOf(next!.revision), integerOf(next!.now)];
  const { after, change: made, left } = changedBy(write, before, revision, now);
  const { state } = after;
  if (state) {
    const start = recordStart(tenantId, key);
    const requests = requestsColumn(after.requests);
    const params = [revision, state.expiresAt, requests, recordSum(start, state), tenantId, key];
    const saved =
      before.storedRevision === 0
        ? await tx.run(MAKE_RECORD, params)
        : await tx.run(MOVE_RECORD, [...params, before.storedRevision]);
    if (saved === 0) throw new Raced('The record was changed meanwhile');
    // A record that replaces an expired record inherits none of its data.
    const startsOver = before.storedRevision > 0 && (write.mode === 'replace' || !before.state);
    if (startsOver) await tx.run(REMOVE_FIELDS, [tenantId, key]);
    await writeFields(tx, write, start, state.fields, startsOver ? undefined : before.state?.fields);
  } else {
    await tx.run(REMOVE_RECORD, [tenantId, key]);
    await tx.run(REMOVE_FIELDS, [tenantId, key]);
  }
  await keepRequests(tx, write.name, left);
  if (before.storedRevision === 0) await fenceRequest(db, tx, write);
  if (jobTypeOf(key) !== null) await moveIndexKeys(tx, write.name, before, state);
  changes.push(made);
  return after;
}

/** Keeps request ids that leave their record for five minutes from now, or from when the record expired. */
export async function keepRequests(
  tx: SqlTransaction,
  name: RecordName,
  requests: readonly string[],
  expiredAt: number | null = null,
): Promise<void> {
  if (requests.length === 0) return;
  const answers = requests.map((requestId) => ({ id: requestName(name, requestId).key, answer: '' }));
  await keepAnswers(tx, name.tenantId, answers, expiredAt);
}

/**
 * Row locks do not cover absent rows: after the read, a retry of the request may have created the record, and another
 * request may have removed it. Both attempts insert the request id, so that only one succeeds.
 */
async function fenceRequest(db: SqlDatabase, tx: SqlTransaction, write: RecordWrite): Promise<void> {
  const { name, requestId, requestIsNew } = write;
  if (db.forUpdate === '' || requestId === undefined || requestIsNew) return;
  const isFirst = await keepNewAnswer(tx, name.tenantId, { id: requestName(name, requestId).key, answer: '' });
  if (!isFirst) throw new Raced('The request was carried out meanwhile');
}

/** Ids contain no NUL, so this is unambiguous. */
export function idOf({ space, tenantId, key }: RecordName): string {
  return `${space}\0${tenantId}\0${key}`;
}
