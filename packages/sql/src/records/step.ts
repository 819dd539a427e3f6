/**
 * Conditional steps on records, inside a transaction: look, decide by the rules all engines share, change. Fields are
 * read only when the step needs them.
 */
import {
  type Fields,
  isAnswered,
  jobTypeOf,
  meets,
  placesOf,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordState,
  type RecordWrite,
  recordAfter,
  type StoredRecord,
} from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { batchesOf, placeholders } from '../statements.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';
import { storedRecord } from './rows.ts';

/** A change with the tenant it belongs to, for those who watch. */
export interface MadeChange extends RecordChange {
  tenantId: string;
  /** Of the change, also when it was a removal. */
  revision: number;
  expiresAt: number | null;
}

/** Another has made or changed the record since we looked; only where rows are locked, for an absent one is not. */
export class Raced extends Error {}

/** A record under the eyes of a transaction. */
interface Seen {
  /** The record; absent when there is none or it has expired. */
  state: RecordState | undefined;
  /** Whether the fields of `state` were read. */
  hasFields: boolean;
  /** Of the stored row, expired or not; 0 when there is none. */
  storedRevision: number;
  now: number;
}

/** What a transaction has seen of some records. */
export type Looked = Map<string, Seen>;

interface RecordRow {
  revision: SqlInteger;
  expires_at: SqlInteger | null;
  requests: string | null;
  now: SqlInteger;
}

const OF_RECORD = 'WHERE tenant_id = ? AND key = ?';

const LOOK = `SELECT revision, expires_at, requests, ${NOW} AS now FROM @kv_records ${OF_RECORD}`;

const LOOK_WITH_FIELDS = `
  SELECT record.revision, record.expires_at, record.requests, ${NOW} AS now, kv_field.field, kv_field.value
    FROM @kv_records AS record
    JOIN @kv_fields AS kv_field ON kv_field.tenant_id = record.tenant_id AND kv_field.key = record.key
   WHERE record.tenant_id = ? AND record.key = ?`;

const SAVE_RECORD = `
  INSERT INTO @kv_records AS stored (tenant_id, key, revision, expires_at, requests)
  VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, key) DO UPDATE SET
    revision   = excluded.revision,
    expires_at = excluded.expires_at,
    requests   = excluded.requests
  WHERE stored.revision = ?
  RETURNING revision`;

const REMOVE_FIELDS = `DELETE FROM @kv_fields ${OF_RECORD}`;

/** Looks at whole records for steps that follow in the same transaction; nobody changes those that are there meanwhile. */
export async function lookAt(db: SqlDatabase, tx: SqlTransaction, names: readonly RecordName[]): Promise<Looked> {
  const seen: Looked = new Map();
  for (const name of names) seen.set(idOf(name), await look(db, tx, name, true));
  return seen;
}

/** A record as it was seen. */
export function recordIn(looked: Looked, name: RecordName): StoredRecord | null {
  const { state, now } = looked.get(idOf(name))!;
  return state ? storedRecord(state, now) : null;
}

/** Carries out several steps, all or none; gives how each went and what has changed. */
export async function takeSteps(
  db: SqlDatabase,
  tx: SqlTransaction,
  writes: readonly RecordWrite[],
  looked: Looked = new Map(),
): Promise<{ outcomes: RecordOutcome[]; changes: MadeChange[] }> {
  const seen = new Map(looked);
  for (const write of writes) {
    const id = idOf(write.name);
    const known = seen.get(id);
    if (!known || (needsFields(write) && !known.hasFields)) {
      seen.set(id, await look(db, tx, write.name, needsFields(write)));
    }
  }
  const answered = writes.map((write) => isAnswered(write, seen.get(idOf(write.name))!.state));
  const holds = writes.every((write, at) => answered[at] || meets(write, seen.get(idOf(write.name))!.state));
  const outcomes: RecordOutcome[] = [];
  const changes: MadeChange[] = [];
  for (const [at, write] of writes.entries()) {
    const id = idOf(write.name);
    const before = seen.get(id)!;
    let after = before;
    if (holds && !answered[at]) {
      after = await change(db, tx, write, before, changes);
    } else if (before.state && !before.hasFields && !write.brief) {
      after = await look(db, tx, write.name, true);
    }
    seen.set(id, after);
    const record = after.state ? storedRecord(after.state, after.now) : null;
    outcomes.push({ applied: holds, record, existed: before.state !== undefined });
  }
  return { outcomes, changes };
}

/** A job's fields say where it stood in the index. */
function needsFields(write: RecordWrite): boolean {
  return write.mode === 'merge' || jobTypeOf(write.name.key) !== null || (write.expect?.fields?.size ?? 0) > 0;
}

async function look(db: SqlDatabase, tx: SqlTransaction, name: RecordName, withFields: boolean): Promise<Seen> {
  const params = [name.tenantId, name.key];
  // Locked by a statement of its own: one that waits for a lock and joins would miss fields added meanwhile.
  if (!withFields) return seenRows(await tx.all<RecordRow>(LOOK + db.forUpdate, params), false);
  if (db.forUpdate !== '') await tx.all(LOOK + db.forUpdate, params);
  return seenRows(await tx.all<RecordRow & { field: string; value: Uint8Array }>(LOOK_WITH_FIELDS, params), true);
}

function seenRows(rows: readonly (RecordRow & { field?: string; value?: Uint8Array })[], hasFields: boolean): Seen {
  const row = rows[0];
  if (!row) return { state: undefined, hasFields, storedRevision: 0, now: 0 };
  const [revision, now, expiresAt] = [integerOf(row.revision), integerOf(row.now), integerOrNull(row.expires_at)];
  if (expiresAt !== null && expiresAt <= now) return { state: undefined, hasFields, storedRevision: revision, now };
  const fields = new Map(hasFields ? rows.map((it) => [it.field!, it.value!]) : []);
  const requests = row.requests === null ? [] : (JSON.parse(row.requests) as string[]);
  return { state: { fields, revision, expiresAt, requests }, hasFields, storedRevision: revision, now };
}

/** Writes what the step makes of the record; every change has a revision of its own, removals too. */
async function change(
  db: SqlDatabase,
  tx: SqlTransaction,
  write: RecordWrite,
  before: Seen,
  changes: MadeChange[],
): Promise<Seen> {
  const { tenantId, key } = write.name;
  // There is none, and none comes to be.
  if (!before.state && recordAfter(write, undefined, 1, 0) === null) return before;
  const [next] = await tx.all<{ revision: SqlInteger; now: SqlInteger }>(db.revisions.next, []);
  const [revision, now] = [integerOf(next!.revision), integerOf(next!.now)];
  const state = recordAfter(write, before.state, revision, now) ?? undefined;
  if (state) {
    const requests = state.requests.length === 0 ? null : JSON.stringify(state.requests);
    const params = [tenantId, key, revision, state.expiresAt, requests, before.storedRevision];
    if ((await tx.all(SAVE_RECORD, params)).length === 0) throw new Raced('The record was changed meanwhile');
    // An expired record leaves nothing to the one that takes its place.
    const startsOver = before.storedRevision > 0 && (write.mode === 'replace' || !before.state);
    if (startsOver) await tx.all(REMOVE_FIELDS, [tenantId, key]);
    await writeFields(tx, write, state.fields, startsOver ? undefined : before.state?.fields);
  } else {
    await tx.all(`DELETE FROM @kv_records ${OF_RECORD}`, [tenantId, key]);
    await tx.all(REMOVE_FIELDS, [tenantId, key]);
  }
  if (jobTypeOf(key) !== null) await movePlaces(tx, write.name, before, state);
  const record = state ? storedRecord(state, now) : null;
  const expiresAt = state?.expiresAt ?? null;
  changes.push({ tenantId, key, type: state ? 'put' : 'delete', record, revision, expiresAt });
  return { state, hasFields: true, storedRevision: state ? revision : 0, now };
}

/** Writes the fields that the step names, and removes those that were there; a merge has always read them. */
async function writeFields(
  tx: SqlTransaction,
  write: RecordWrite,
  after: Fields,
  before: Fields | undefined,
): Promise<void> {
  const { tenantId, key } = write.name;
  const values: [string, Uint8Array][] = [];
  const removed: string[] = [];
  for (const field of new Set([...write.set.keys(), ...(write.stamps?.keys() ?? [])])) {
    const value = after.get(field);
    if (value !== undefined) values.push([field, value]);
    else if (before?.has(field)) removed.push(field);
  }
  for (const batch of batchesOf(removed)) {
    const sql = `${REMOVE_FIELDS} AND field IN (${placeholders(batch.length, '?')})`;
    await tx.all(sql, [tenantId, key, ...batch]);
  }
  for (const batch of batchesOf(values)) {
    const sql = `
      INSERT INTO @kv_fields (tenant_id, key, field, value)
      VALUES ${placeholders(batch.length, '(?, ?, ?, ?)')}
      ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value`;
    await tx.all(
      sql,
      batch.flatMap(([field, value]) => [tenantId, key, field, value]),
    );
  }
}

/** Brings a job's entries in the index up to date; an expired record that nobody removed may have left some. */
async function movePlaces(
  tx: SqlTransaction,
  { tenantId, key }: RecordName,
  before: Seen,
  after: RecordState | undefined,
): Promise<void> {
  const old = before.state ? placesOf(key, before.state.fields) : [];
  const now = after ? placesOf(key, after.fields) : [];
  const gone = old.filter((place) => !now.includes(place));
  if (!before.state && before.storedRevision > 0) await tx.all(`DELETE FROM @kv_places ${OF_RECORD}`, [tenantId, key]);
  for (const batch of batchesOf(gone)) {
    const places = placeholders(batch.length, '?');
    await tx.all(`DELETE FROM @kv_places WHERE tenant_id = ? AND key = ? AND place IN (${places})`, [
      tenantId,
      key,
      ...batch,
    ]);
  }
  const added = now.filter((place) => !old.includes(place));
  for (const batch of batchesOf(added)) {
    await tx.all(
      `INSERT INTO @kv_places (tenant_id, place, key) VALUES ${placeholders(batch.length, '(?, ?, ?)')}`,
      batch.flatMap((place) => [tenantId, place, key]),
    );
  }
}

/** Ids hold no NUL, so that no two records meet. */
function idOf({ tenantId, key }: RecordName): string {
  return `${tenantId}\0${key}`;
}
