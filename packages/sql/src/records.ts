/**
 * The records of KV in SQL: one row per record and one per field. A change is one conditional step in one transaction.
 */
import {
  boundsOf,
  corruptValue,
  type EngineCall,
  type IndexedRecord,
  jobTypeOf,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordSpace,
  type Records,
  type RecordWrite,
  type ScannedRecord,
  type ScanRange,
  type StoredRecord,
} from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlSignals, type SqlTransaction } from './database.ts';
import { rangeWithin } from './ranges.ts';
import { readAnswer } from './records/answers.ts';
import { Raced, settleRaces } from './records/races.ts';
import {
  type FieldRow,
  gatherIndexSteps,
  gatherRecords,
  IS_LIVE,
  type KeyRow,
  keysOf,
  NOW_IF_EXPIRING,
} from './records/rows.ts';
import type { AloneRecords, SharedRecords } from './records/shared.ts';
import { keepRequests, lookAt, type MadeChange, recordIn, requestsIn, takeSteps } from './records/step.ts';
import { fieldSum, recordStart } from './records/sums.ts';
import { RecordWatcher } from './records/watch.ts';
import { eraseAnswers, removeOldAnswers } from './requests.ts';
import { byPart, bySize, distinctSql, paddedKeys, placeholders, removeInSteps } from './statements.ts';
import { integerOf, type SqlInteger } from './values.ts';

const REMOVE_AT_ONCE = 100;

/** Selects the fields of the records that `from` selects. */
const fieldsOf = (from: string, direction: Direction = 'ASC') => `
  SELECT record.key, record.revision, record.expires_at, record.sum, ${NOW_IF_EXPIRING}, kv_field.field, kv_field.value
    FROM (SELECT tenant_id, key, revision, expires_at, sum FROM @kv_records WHERE ${from}) AS record
    LEFT JOIN @kv_fields AS kv_field ON kv_field.tenant_id = record.tenant_id AND kv_field.key = record.key
   ORDER BY record.key ${direction}`;

type Direction = 'ASC' | 'DESC';

const scanned = (within: string, direction: Direction) =>
  `tenant_id = ? AND ${within} AND ${IS_LIVE} ORDER BY key ${direction} LIMIT ?`;

const fieldScan = (direction: Direction) => byPart((within: string) => fieldsOf(scanned(within, direction), direction));

const keyScan = (direction: Direction) =>
  byPart(
    (within: string) =>
      `SELECT key, revision, expires_at, ${NOW_IF_EXPIRING} FROM @kv_records WHERE ${scanned(within, direction)}`,
  );

/** Select the records of a scan by the condition on their keys, with and without fields. */
const SCANS = {
  fields: { ASC: fieldScan('ASC'), DESC: fieldScan('DESC') },
  keys: { ASC: keyScan('ASC'), DESC: keyScan('DESC') },
};

const fieldsOfKeys = bySize((keys) => fieldsOf(`tenant_id = ? AND key IN (${placeholders(keys, '?')}) AND ${IS_LIVE}`));

/** Selects the fields of the records in a range of index keys. */
const placedFields = (start: string) => `
  SELECT record.place, record.key, record.revision, record.expires_at, record.sum, ${NOW_IF_EXPIRING},
         kv_field.field, kv_field.value
    FROM (
      SELECT kv_place.tenant_id, kv_place.place, kv_place.key, kv_record.revision, kv_record.expires_at, kv_record.sum
        FROM @kv_places AS kv_place
        JOIN @kv_records AS kv_record ON kv_record.tenant_id = kv_place.tenant_id AND kv_record.key = kv_place.key
       WHERE kv_place.tenant_id = ? AND ${start} AND kv_place.place < ? AND ${IS_LIVE}
       ORDER BY kv_place.place, kv_place.key
       LIMIT ?
    ) AS record
    LEFT JOIN @kv_fields AS kv_field ON kv_field.tenant_id = record.tenant_id AND kv_field.key = record.key
   ORDER BY record.place, record.key`;

interface SummedField {
  key: string;
  field: string;
  value: Uint8Array;
  sum: number | null;
}

const FIELDS_WITH_SUMS = 'SELECT key, field, value, sum FROM @kv_fields WHERE tenant_id = ? AND key > ? AND key <= ?';

const FIELD = `
  SELECT kv_field.value, kv_field.sum
    FROM @kv_fields AS kv_field
    JOIN @kv_records AS record ON record.tenant_id = kv_field.tenant_id AND record.key = kv_field.key
   WHERE kv_field.tenant_id = ? AND kv_field.key = ? AND kv_field.field = ? AND ${IS_LIVE}`;

/**
 * Selects the fields of some keys with their records, expired or not. The revision is NULL where the record is missing.
 */
const leftFields = bySize(
  (keys) => `
  SELECT kv_field.key, record.revision, record.expires_at, record.sum, ${NOW_IF_EXPIRING}, kv_field.field, kv_field.value
    FROM @kv_fields AS kv_field
    LEFT JOIN @kv_records AS record ON record.tenant_id = kv_field.tenant_id AND record.key = kv_field.key
   WHERE kv_field.tenant_id = ? AND kv_field.key IN (${placeholders(keys, '?')})
   ORDER BY kv_field.key`,
);

/**
 * Repeats the condition outside the subquery, because a record may be written again after the subquery was evaluated.
 */
const REMOVE_EXPIRED = `
  DELETE FROM @kv_records
  WHERE expires_at <= ${NOW} AND (tenant_id, key) IN (
    SELECT tenant_id, key FROM @kv_records WHERE expires_at <= ${NOW} ORDER BY expires_at LIMIT ?
  )
  RETURNING tenant_id, key, requests, expires_at`;

const ERASE = `
  DELETE FROM @kv_records WHERE tenant_id = ? AND key IN (SELECT key FROM @kv_records WHERE tenant_id = ? LIMIT ?)
  RETURNING key`;

/** Records that can also be changed inside a transaction that writes something else. */
export interface SqlRecords extends Records {
  /**
   * Reads records in the transaction and applies the writes that `decide` returns. Returns a function that notifies the
   * watchers, to be called after the commit. Throws `Raced` when another writer was faster; wrap the whole transaction
   * in `settleRaces`.
   */
  changeInside(
    tx: SqlTransaction,
    names: readonly RecordName[],
    decide: (found: readonly (StoredRecord | null)[]) => RecordWrite[] | Promise<RecordWrite[]>,
  ): Promise<() => void>;
}

interface ExpiredRow {
  tenant_id: string;
  key: string;
  requests: string | null;
  expires_at: SqlInteger;
}

class RecordTables implements SqlRecords {
  readonly #db: SqlDatabase;
  readonly #signals: Pick<SqlSignals, 'wait'>;
  readonly #shared: SharedRecords | undefined;
  readonly claimFirst: Records['claimFirst'];
  readonly awaitClaims: Records['awaitClaims'];
  readonly #watchers = new Set<RecordWatcher>();

  constructor(db: SqlDatabase, signals: Pick<SqlSignals, 'wait'>, share?: (alone: AloneRecords) => SharedRecords) {
    this.#db = db;
    this.#signals = signals;
    this.#shared = share?.({
      write: async (write, call) => (await this.batch([write], call))[0]!,
      report: (changes) => this.#report(changes),
    });
    this.claimFirst = this.#shared?.claimFirst.bind(this.#shared);
    this.awaitClaims = this.#shared?.awaitClaims.bind(this.#shared);
  }

  async get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    if (names[0]?.space === 'requests') return Promise.all(names.map((name) => readAnswer(this.#db, name, call)));
    if (this.#shared && names.length === 1) return [await this.#shared.get(names[0]!, call)];
    const found = new Map<string, ReadonlyMap<string, StoredRecord>>();
    for (const [tenantId, ofTenant] of Map.groupBy(names, (name) => name.tenantId))
      found.set(tenantId, await this.#getOfTenant(tenantId, ofTenant, call));
    return names.map(({ tenantId, key }) => found.get(tenantId)!.get(key) ?? null);
  }

  async #getOfTenant(
    tenantId: string,
    names: readonly RecordName[],
    call: EngineCall,
  ): Promise<ReadonlyMap<string, StoredRecord>> {
    const keys = paddedKeys(names.map(({ key }) => key));
    const rows = await this.#db.read<FieldRow>(fieldsOfKeys(keys.length), [tenantId, ...keys], call);
    const found = new Map<string, StoredRecord>();
    for (const record of gatherRecords(tenantId, rows)) {
      if (record.damaged) throw corruptValue('record', record.key);
      found.set(record.key, record);
    }
    if (found.size < names.length) {
      const missing = names.map(({ key }) => key).filter((key) => !found.has(key));
      if (missing.length > 0) await this.#refuseLost(tenantId, missing, call);
    }
    return found;
  }

  /**
   * Throws when a missing record is damaged rather than absent. Record and fields are written and removed in one step:
   * if fields exist, either the record's row was damaged, or the record has expired and must match its checksum.
   */
  async #refuseLost(tenantId: string, missing: readonly string[], call: EngineCall): Promise<void> {
    const keys = paddedKeys(missing);
    const rows = await this.#db.read<FieldRow>(leftFields(keys.length), [tenantId, ...keys], call);
    const orphan = rows.find(({ revision }) => revision === null);
    const lost = orphan ?? gatherRecords(tenantId, rows).find(({ damaged }) => damaged);
    if (lost) throw corruptValue('record', lost.key);
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    if (this.#shared) return this.#shared.getField(name, field, call);
    const { tenantId, key } = name;
    const [row] = await this.#db.read<{ value: Uint8Array; sum: number | null }>(FIELD, [tenantId, key, field], call);
    // Only the whole record shows whether the field is absent or lost.
    if (!row) return (await this.get([name], call))[0]?.fields.get(field) ?? null;
    if (row.sum !== null && fieldSum(recordStart(tenantId, key), field, row.value) !== row.sum)
      throw corruptValue('record', key);
    return row.value;
  }

  async write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    if (this.#shared && write.name.space !== 'requests') return this.#shared.write(write, call);
    return (await this.batch([write], call))[0]!;
  }

  async batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const { outcomes, changes } = await settleRaces(() =>
      this.#db.write((tx) => takeSteps(this.#db, tx, writes), call),
    );
    this.#report(changes);
    return outcomes;
  }

  async changeInside(
    tx: SqlTransaction,
    names: readonly RecordName[],
    decide: (found: readonly (StoredRecord | null)[]) => RecordWrite[] | Promise<RecordWrite[]>,
  ): Promise<() => void> {
    const looked = await lookAt(this.#db, tx, names);
    const writes = await decide(names.map((name) => recordIn(looked, name)));
    const { outcomes, changes } = await takeSteps(this.#db, tx, writes, looked);
    if (!outcomes.every(({ applied }) => applied)) throw new Raced('A record is not what it was');
    return () => this.#report(changes);
  }

  async scan(_space: RecordSpace, tenantId: string, range: ScanRange, call: EngineCall): Promise<ScannedRecord[]> {
    const within = rangeWithin('key', boundsOf(range));
    const direction = range.reverse ? 'DESC' : 'ASC';
    const params = [tenantId, ...within.params, range.limit];
    if (range.keysOnly) return keysOf(await this.#db.read<KeyRow>(SCANS.keys[direction](within.sql), params, call));
    return gatherRecords(tenantId, await this.#db.read<FieldRow>(SCANS.fields[direction](within.sql), params, call));
  }

  async damagedFields(
    tenantId: string,
    { after, to }: { after: string | null; to: string },
    call: EngineCall,
  ): Promise<string[]> {
    const rows = await this.#db.read<SummedField>(FIELDS_WITH_SUMS, [tenantId, after ?? '', to], call);
    const isDamaged = ({ key, field, value, sum }: SummedField) =>
      sum !== null && (typeof field !== 'string' || fieldSum(recordStart(tenantId, key), field, value) !== sum);
    return [...new Set(rows.filter(isDamaged).map(({ key }) => key))];
  }

  async scanIndex(
    tenantId: string,
    { from, to, after, limit }: Parameters<Records['scanIndex']>[1],
    call: EngineCall,
  ): Promise<IndexedRecord[]> {
    const start = after ? '(kv_place.place, kv_place.key) > (?, ?)' : 'kv_place.place >= ?';
    const params = [tenantId, ...(after ? [after.indexKey, after.key] : [from]), to, limit];
    return gatherIndexSteps(
      tenantId,
      await this.#db.read<FieldRow & { place: string }>(placedFields(start), params, call),
    );
  }

  async now(call: EngineCall): Promise<number> {
    const [row] = await this.#db.read<{ now: SqlInteger }>(`SELECT ${NOW} AS now`, [], call);
    return integerOf(row!.now);
  }

  watch(_space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const watcher = new RecordWatcher(this.#db, this, { tenantId, prefix }, this.#signals, signal);
    this.#watchers.add(watcher);
    watcher.signal.addEventListener('abort', () => this.#watchers.delete(watcher), { once: true });
    return watcher.changes();
  }

  /** Does not notify watchers: they find expired records themselves. */
  async removeExpired(limit: number, call: EngineCall): Promise<number> {
    const removed = await this.#removeExpired(limit, call);
    return removed + (await removeOldAnswers(this.#db, limit - removed, call));
  }

  #removeExpired(limit: number, call: EngineCall): Promise<number> {
    return removeInSteps(limit, REMOVE_AT_ONCE, (most) =>
      this.#db.write(async (tx) => {
        const removed = await tx.all<ExpiredRow>(REMOVE_EXPIRED, [most]);
        for (const { tenant_id, key, requests, expires_at } of removed) {
          const name = { space: 'kv', tenantId: tenant_id, key } as const;
          await keepRequests(tx, name, requestsIn(requests), integerOf(expires_at));
          await tx.all('DELETE FROM @kv_fields WHERE tenant_id = ? AND key = ?', [tenant_id, key]);
          if (jobTypeOf(key) === null) continue;
          await tx.all('DELETE FROM @kv_places WHERE tenant_id = ? AND key = ?', [tenant_id, key]);
        }
        return removed.length;
      }, call),
    );
  }

  async tenants(_space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    const sql = distinctSql('kv_records', 'tenant_id');
    return (await this.#db.read<{ item: string }>(sql, [after ?? '', limit], call)).map(({ item }) => item);
  }

  async erase(_space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]> {
    const keys = await this.#db.write(async (tx) => {
      const removed = await tx.all<{ key: string }>(ERASE, [tenantId, tenantId, limit]);
      for (const { key } of removed) {
        await tx.all('DELETE FROM @kv_fields WHERE tenant_id = ? AND key = ?', [tenantId, key]);
        await tx.all('DELETE FROM @kv_places WHERE tenant_id = ? AND key = ?', [tenantId, key]);
      }
      return removed.map(({ key }) => key);
    }, call);
    if (keys.length === 0) await eraseAnswers(this.#db, tenantId, call);
    return keys;
  }

  #report(changes: readonly MadeChange[]): void {
    for (const watcher of this.#watchers) for (const change of changes) watcher.push(change);
  }
}

/**
 * Creates the records for KV over one database. `wait` wakes its watchers when other processes may have written.
 * `share` lets concurrent calls share statements, on engines where each statement is a round trip.
 */
export function sqlRecords(
  db: SqlDatabase,
  signals: Pick<SqlSignals, 'wait'>,
  share?: (alone: AloneRecords) => SharedRecords,
): SqlRecords {
  return new RecordTables(db, signals, share);
}
