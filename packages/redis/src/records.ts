/** The records primitive on Redis: a hash per record, changed by one script together with all its index entries. */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import {
  boundsOf,
  corruptValue,
  type EngineCall,
  type IndexedRecord,
  type IndexRange,
  type Merge,
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
import { encodeChange, fitsChange } from './change.ts';
import type { Commands } from './commands.ts';
import { fieldArguments } from './field-arguments.ts';
import { FirstClaimer } from './first-claims.ts';
import type { Hints } from './hints.ts';
import { expiryMember, type Layout, recordOfMember } from './layout.ts';
import { distinctLexical, excluded, included, type LexicalRange, mergeLexical, rangeWithin } from './lexical.ts';
import { Encoded, encodeText } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';
import type { RecordParts } from './record-parts.ts';
import { jobTypeOfRecord, outcomeOf, type StepReply, stepArguments } from './record-step.ts';
import { matchesSum, recordStart } from './record-sums.ts';
import { RecordWatcher } from './record-watch.ts';
import { CHANGE, DUE, FORGET, LOST, WRITE } from './scripts.ts';
import { NO_FIELDS, type ParsedRecord, parseRecord, storedRecord } from './stored-record.ts';

/** A record as a scan returns it. */
type MarkedRecord = StoredRecord & Pick<ScannedRecord, 'damaged' | 'unsummed'>;

const [HGETALL, HMGET] = ['HGETALL', 'HMGET'].map(encodeText) as [string, string];

const LOST_RECORD: MarkedRecord = { fields: NO_FIELDS, revision: 0, ttlMs: null, damaged: true };

/** The record of a key in a scan that reads only keys. */
const KEY_ALONE: ParsedRecord = { fields: new Map(), revision: 0, expiresAt: null };

class RedisRecords implements Records {
  readonly #parts: RecordParts;
  readonly #commands: Commands;
  readonly #layout: Layout;
  readonly #hints: Hints;
  readonly #claimer: FirstClaimer | null;
  /** Only if one server holds all buckets. */
  readonly claimFirst: Records['claimFirst'];

  constructor(parts: RecordParts) {
    const claimer = parts.oneServer ? new FirstClaimer(parts) : null;
    if (claimer) this.claimFirst = (...args) => claimer.claim(...args);
    this.#claimer = claimer;
    this.#parts = parts;
    this.#commands = parts.commands;
    this.#layout = parts.layout;
    this.#hints = parts.hints;
  }

  get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    if (names.length === 1) return this.#getOne(names[0]!, call);
    return this.#getAll(names, call);
  }

  async #getAll(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    const found = await Promise.all(names.map((name) => this.#read(name, call)));
    for (const [at, record] of found.entries()) if (record?.damaged) throw corruptValue('record', names[at]!.key);
    return this.#withTimes(found, names, call);
  }

  /** Like `#getAll`, but for one record, without the cost of a list of promises. */
  #getOne(name: RecordName, call: EngineCall): Promise<[StoredRecord | null]> {
    const { bucket, argument } = this.#layout.recordAddress(name);
    const command = new Encoded().addReady(HGETALL).addReady(argument);
    return this.#commands.ask(bucket, command, call, (reply) => {
      const record = parseRecord(name, reply as Buffer[]);
      if (!record) return this.#refuseLost(name, call).then(() => [null]);
      if (record.damaged) throw corruptValue('record', name.key);
      if (record.expiresAt !== null) return this.#clockOf(bucket, call).then((now) => [storedRecord(record, now)]);
      return [storedRecord(record, 0)];
    });
  }

  getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    const { bucket, argument } = this.#layout.recordAddress(name);
    const command = new Encoded().addReady(HMGET).addReady(argument);
    const { name: fieldName, companion } = fieldArguments(field);
    command.addReady(fieldName).addReady(companion);
    return this.#commands.ask(bucket, command, call, (reply) => {
      const [value, sum] = reply as [Buffer | null, Buffer | null];
      if (sum && (!value || !matchesSum(recordStart(name), field, value, sum))) throw corruptValue('record', name.key);
      if (!value) return this.#refuseLost(name, call).then(() => null);
      // A field without a checksum may be the checksum of another field whose name is damaged.
      if (!sum && this.#parts.sums) return this.#refuseStray(name, field, call).then(() => value);
      return value;
    });
  }

  async #refuseStray(name: RecordName, field: string, call: EngineCall): Promise<void> {
    const record = await this.#parse(name, call);
    if (record?.damaged && !record.fields.has(field)) throw corruptValue('record', name.key);
  }

  /** Throws when a record is missing because of damage, that is, when it is still in the index. */
  async #refuseLost(name: RecordName, call: EngineCall): Promise<void> {
    if (await this.#isLost(name, call)) throw corruptValue('record', name.key);
  }

  /** Whether a missing record is in the index and should not have expired yet. */
  async #isLost(name: RecordName, call: EngineCall): Promise<boolean> {
    if (!this.#parts.sums) return false;
    const bucket = this.#layout.bucketOfRecord(name);
    const keys = [this.#layout.record(name), this.#layout.names(bucket, name.space, name.tenantId)];
    keys.push(this.#layout.shared(bucket, 'expiring'));
    return (await this.#commands.look(bucket, LOST, keys, [name.key, expiryMember(name)], call)) === 1;
  }

  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    if (!this.#parts.sums || !fitsChange(write)) return this.#applyOne(write, call);
    const bucket = this.#layout.bucketOfRecord(write.name);
    const brief = this.#isBrief(write);
    const change = encodeChange(this.#layout, bucket, write, { brief, namesKeys: !this.#parts.oneServer });
    if (!change) return this.#applyOne(write, call);
    const { keys, args } = change;
    const decode = (reply: Reply) => {
      const outcome = change.decode(reply);
      if (!outcome) return this.#applyOne(write, call);
      if (!outcome.applied) return outcome;
      const { revision } = outcome.record!;
      if (!change.queuesJob) this.#claimer?.noteHarmless(bucket, revision);
      this.#noteChange(bucket, write, revision, brief ? undefined : outcome.record);
      return outcome;
    };
    // A worker that ends a job claims the next one in the same turn of the event loop.
    const waits = !change.queuesJob && jobTypeOfRecord(write.name) !== null && this.#claimer?.isUsed === true;
    return this.#commands.share<RecordOutcome>(bucket, CHANGE, keys, args, call, decode, waits);
  }

  /** Watchers need the complete record. */
  #isBrief({ brief }: RecordWrite): boolean {
    return brief === true && !this.#hints.isWatched;
  }

  /** `record` is the record after the change, if its fields are known. */
  #noteChange(bucket: number, { name }: RecordWrite, revision: number, record: StoredRecord | null | undefined): void {
    this.#hints.recordChanged(record === undefined ? { bucket, revision, name } : { bucket, revision, name, record });
  }

  async #applyOne(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    const [outcome] = await this.#apply([write], call);
    return outcome!;
  }

  async batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    if (writes.length === 0) return [];
    const isOneStep =
      this.#parts.oneServer || new Set(writes.map(({ name }) => this.#layout.bucketOfRecord(name))).size === 1;
    return isOneStep ? this.#apply(writes, call) : this.#applyInOrder(writes, call);
  }

  #apply(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const [keys, args] = [new Encoded(), new Encoded().add(String(writes.length))];
    const steps = writes.map((write) => {
      const { name } = write;
      const [bucket, brief] = [this.#layout.bucketOfRecord(name), this.#isBrief(write)];
      keys.add(this.#layout.shared(bucket, 'revision')).add(this.#layout.shared(bucket, 'expiring'));
      keys.addAll(this.#keysOf(bucket, name));
      args.addAll(stepArguments(write, brief, this.#parts.sums));
      return { write, bucket, brief };
    });
    return this.#commands.share(steps[0]!.bucket, WRITE, keys, args, call, (replies) =>
      (replies as StepReply[]).map((reply, at) => {
        const { write, bucket, brief } = steps[at]!;
        const outcome = outcomeOf(write.name, reply);
        if (reply[2] > 0) this.#noteChange(bucket, write, reply[2], brief ? undefined : outcome.record);
        return outcome;
      }),
    );
  }

  /**
   * Applies the writes one by one, conditions first, because in a Cluster records of several buckets cannot change in
   * one step.
   */
  async #applyInOrder(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const conditional = writes.filter(({ expect }) => expect !== undefined);
    const outcomes = new Map<RecordWrite, RecordOutcome>();
    for (const write of [...conditional, ...writes]) {
      if (outcomes.has(write)) continue;
      const outcome = await this.write(write, call).catch((error: unknown) => {
        throw [...outcomes.values()].some(({ applied }) => applied) ? partlyStored(error) : error;
      });
      outcomes.set(write, outcome);
      if (!outcome.applied) break;
    }
    const applied = [...outcomes.values()].every((outcome) => outcome.applied);
    return writes.map((write) => ({ ...(outcomes.get(write) ?? { record: null, existed: false }), applied }));
  }

  /**
   * Returns the keys of the record and of the index of names. For a job, also returns the keys of the job index and of
   * the job's stored index entries.
   */
  #keysOf(bucket: number, name: RecordName): string[] {
    const keys = [this.#layout.record(name), this.#layout.names(bucket, name.space, name.tenantId)];
    if (jobTypeOfRecord(name) === null) return keys;
    return [...keys, this.#jobsKey(bucket, name.tenantId), this.#layout.tenants(bucket, 'job-places', name.tenantId)];
  }

  async scan(space: RecordSpace, tenantId: string, range: ScanRange, call: EngineCall): Promise<ScannedRecord[]> {
    const key = (bucket: number) => this.#layout.names(bucket, space, tenantId);
    const { limit, reverse, keysOnly } = range;
    const within = rangeWithin(boundsOf(range), reverse);
    const merge = mergeLexical(this.#commands, this.#layout.buckets, key, within, limit, call);
    const nameOf = (member: string) => ({ name: { space, tenantId, key: member }, key: member });
    const read = (name: RecordName) => (keysOnly ? this.#look(name, call) : this.#parse(name, call));
    return this.#collect(merge, limit, nameOf, read, call);
  }

  async scanIndex(tenantId: string, range: IndexRange, call: EngineCall): Promise<IndexedRecord[]> {
    const { after, limit } = range;
    const from = after ? excluded(`${after.indexKey}\0${after.key}`) : included(range.from);
    const between: LexicalRange = { from, to: excluded(range.to), order: 'ascending' };
    const key = (bucket: number) => this.#jobsKey(bucket, tenantId);
    const merge = mergeLexical(this.#commands, this.#layout.buckets, key, between, limit, call);
    const nameOf = (member: string) => {
      const [indexKey, key] = member.split('\0') as [string, string];
      return { name: { space: 'kv', tenantId, key } as const, key, indexKey };
    };
    return this.#collect(merge, limit, nameOf, (name) => this.#parse(name, call), call);
  }

  /**
   * Returns the records of index entries, up to the requested number. Expired records stay in the indexes for a while.
   */
  async #collect<T extends { name: RecordName }>(
    merge: Merge<Buffer>,
    limit: number,
    nameOf: (member: string) => T,
    readOne: (name: RecordName) => Promise<ParsedRecord | null>,
    call: EngineCall,
  ): Promise<(Omit<T, 'name'> & MarkedRecord)[]> {
    const found: (Omit<T, 'name'> & MarkedRecord)[] = [];
    while (found.length < limit) {
      const wanted = limit - found.length;
      const entries = (await merge.take(wanted)).map((member) => nameOf(member.toString()));
      const names = entries.map(({ name }) => name);
      const read = await Promise.all(names.map(readOne));
      const records = await this.#withTimes(read, names, call);
      for (const [at, { name, ...entry }] of entries.entries()) {
        const [record, { damaged, unsummed } = {}] = [records[at], read[at] ?? {}];
        if (!record && (await this.#isLost(name, call))) found.push({ ...entry, ...LOST_RECORD });
        else if (damaged) found.push({ ...entry, ...record!, fields: NO_FIELDS, damaged });
        else if (record) found.push({ ...entry, ...record, ...(unsummed && { unsummed }) });
      }
      if (entries.length < wanted) break;
    }
    return found;
  }

  async now(call: EngineCall): Promise<number> {
    return this.#clockOf(0, call);
  }

  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const watcher = new RecordWatcher({ ...this.#parts, records: this }, { space, tenantId, prefix }, signal);
    return watcher.changes();
  }

  async removeExpired(limit: number, call: EngineCall): Promise<number> {
    let removed = 0;
    for (let bucket = 0; bucket < this.#layout.buckets && removed < limit; bucket++) {
      const expiring = this.#layout.shared(bucket, 'expiring');
      const due = (await this.#commands.look(bucket, DUE, [expiring], [String(limit - removed)], call)) as Buffer[];
      const forgotten = await Promise.all(due.map((member) => this.#forget(bucket, expiring, member.toString(), call)));
      removed += forgotten.reduce((sum, count) => sum + count, 0);
    }
    return removed;
  }

  tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    const key = (bucket: number) => this.#layout.recordTenants(bucket, space);
    return distinctLexical(this.#commands, this.#layout.buckets, key, after, limit, call);
  }

  async erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]> {
    const index = (bucket: number) => this.#layout.names(bucket, space, tenantId);
    const keys = await distinctLexical(this.#commands, this.#layout.buckets, index, null, limit, call);
    await Promise.all(keys.map((key) => this.#erase({ space, tenantId, key }, call)));
    if (keys.length === 0) await this.#eraseRequests(space, tenantId, call);
    return keys;
  }

  async #eraseRequests(space: RecordSpace, tenantId: string, call: EngineCall): Promise<void> {
    const buckets = Array.from({ length: this.#layout.buckets }, (_, bucket) => bucket);
    await Promise.all(
      buckets.map((bucket) =>
        this.#commands.put(bucket, ['UNLINK', this.#layout.requests(bucket, space, tenantId)], call),
      ),
    );
  }

  /** Erases a record. If it has already expired, removes its index entries. */
  async #erase(name: RecordName, call: EngineCall): Promise<void> {
    const { existed } = await this.write({ name, mode: 'delete', set: new Map() }, call);
    const bucket = this.#layout.bucketOfRecord(name);
    if (!existed) await this.#forget(bucket, this.#layout.shared(bucket, 'expiring'), expiryMember(name), call);
  }

  async #forget(bucket: number, expiring: string, member: string, call: EngineCall): Promise<number> {
    const name = recordOfMember(member);
    const [record, names, ...jobs] = this.#keysOf(bucket, name) as [string, string, ...string[]];
    const args = [name.key, member, jobTypeOfRecord(name) ?? ''];
    return (await this.#commands.write(bucket, FORGET, [record, names, expiring, ...jobs], args, call)) as number;
  }

  async #read(name: RecordName, call: EngineCall): Promise<ParsedRecord | null> {
    const record = await this.#parse(name, call);
    if (!record) await this.#refuseLost(name, call);
    return record;
  }

  async #parse(name: RecordName, call: EngineCall): Promise<ParsedRecord | null> {
    const bucket = this.#layout.bucketOfRecord(name);
    return parseRecord(
      name,
      (await this.#commands.read(bucket, ['HGETALL', this.#layout.record(name)], call)) as Buffer[],
    );
  }

  /** Checks that a record exists without reading it. */
  async #look(name: RecordName, call: EngineCall): Promise<ParsedRecord | null> {
    const bucket = this.#layout.bucketOfRecord(name);
    const exists = await this.#commands.read(bucket, ['EXISTS', this.#layout.record(name)], call);
    return exists === 1 ? KEY_ALONE : null;
  }

  /**
   * Adds the remaining times. Reads the clock of the server that holds the records, but only if one of them expires.
   */
  async #withTimes(
    found: readonly (ParsedRecord | null)[],
    names: readonly RecordName[],
    call: EngineCall,
  ): Promise<(StoredRecord | null)[]> {
    const clocks = new Map<number, Promise<number>>();
    const clockOf = (name: RecordName) => {
      const bucket = this.#layout.bucketOfRecord(name);
      const clock = clocks.get(bucket) ?? this.#clockOf(bucket, call);
      clocks.set(bucket, clock);
      return clock;
    };
    if (found.every((record) => !record || record.expiresAt === null))
      return found.map((record) => record && storedRecord(record, 0));
    return Promise.all(
      found.map(async (record, at) => record && storedRecord(record, record.expiresAt ? await clockOf(names[at]!) : 0)),
    );
  }

  async #clockOf(bucket: number, call: EngineCall): Promise<number> {
    const [seconds, micros] = (await this.#commands.read(bucket, ['TIME'], call)) as [Buffer, Buffer];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  #jobsKey(bucket: number, tenantId: string): string {
    return this.#layout.tenants(bucket, 'jobs', tenantId);
  }
}

/** The writes before the failed one are stored, so the error must not state that nothing was written. */
function partlyStored(cause: unknown): unknown {
  if (isTidemarkError(cause, 'OUTCOME_UNKNOWN')) return cause;
  return new TidemarkError('OUTCOME_UNKNOWN', 'Some of the writes are stored; send them again', { cause });
}

export function redisRecords(parts: RecordParts): Records {
  return new RedisRecords(parts);
}
