/**
 * Encodes the most common steps for `change.lua`: they change fields of one record, and neither its time to live nor its
 * requests. All others go through `write.lua` (record-step.ts).
 */
import type { Fields, RecordOutcome, RecordWrite, StoredRecord } from '@tidemark/core/engine';
import { fieldArguments } from './field-arguments.ts';
import { type IndexKeyTemplate, indexKeysAfter } from './job-index-keys.ts';
import type { Layout, RecordAddress } from './layout.ts';
import { Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';
import { bytesOf, jobTypeOfRecord } from './record-step.ts';
import { recordStart, sumOfField } from './record-sums.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** A limit, because the number of fields, doubled by checksums, is encoded as one ASCII character. */
const MAX_FIELDS = 60;
/** The index entries of jobs that claims find. */
const QUEUED = /^(ready|delayed)\//;

/**
 * Returns whether `change.lua` can perform a step. Some steps turn out to be unsuitable only when the script sees the
 * record.
 */
export function fitsChange(write: RecordWrite): boolean {
  const { mode, expect, set, stamps, ttlMs, requestId, answersBatch } = write;
  if (mode !== 'merge' || requestId !== undefined || answersBatch || expect?.revision !== undefined) return false;
  if (ttlMs !== undefined && ttlMs !== null) return false;
  if (set.size > MAX_FIELDS || (expect?.fields?.size ?? 0) > MAX_FIELDS) return false;
  return hasValues(write) || (stamps?.size ?? 0) > 0;
}

/** A record without fields is removed, which only the general step does. */
function hasValues({ set }: RecordWrite): boolean {
  for (const value of set.values()) if (value !== null) return true;
  return false;
}

export interface EncodedChange {
  keys: Encoded;
  args: Encoded;
  /** Whether the step makes a job ready or delayed. */
  queuesJob: boolean;
  /** Returns the outcome, or `null` if the step needs the general script. */
  decode(reply: Reply): RecordOutcome | null;
}

/**
 * Encodes a step, or returns `null` if the index entries of a job after it depend on fields that only the server knows.
 * Each field is written with its checksum. With `namesKeys`, all keys are sent.
 */
export function encodeChange(
  layout: Layout,
  bucket: number,
  write: RecordWrite,
  { brief, namesKeys }: { brief: boolean; namesKeys: boolean },
): EncodedChange | null {
  const { name } = write;
  const isJob = jobTypeOfRecord(name) !== null;
  const indexKeys = isJob ? indexKeysAfter(write) : null;
  if (isJob && !indexKeys) return null;
  const address = layout.recordAddress(name);
  const keys = new Encoded().addReady(address.argument);
  if (namesKeys) {
    keys.add(layout.names(bucket, name.space, name.tenantId)).add(layout.shared(bucket, 'revision'));
    if (isJob) for (const kind of ['jobs', 'job-places']) keys.add(layout.tenants(bucket, kind, name.tenantId));
  }
  const known = brief ? undefined : write.known;
  const args = encodeArguments(write, address, layout.tagLength(bucket), keys.count, brief, indexKeys);
  const queuesJob = indexKeys?.some(({ start }) => QUEUED.test(start)) ?? false;
  return { keys, args, queuesJob, decode: (reply) => outcomeOf(write, known, reply) };
}

function encodeArguments(
  { name, expect, set, stamps, ttlMs, known }: RecordWrite,
  { member }: RecordAddress,
  tagLength: number,
  keys: number,
  brief: boolean,
  indexKeys: readonly IndexKeyTemplate[] | null,
): Encoded {
  const args = new Encoded();
  const { names, values, absent } = conditionsOf(expect?.fields);
  const exists = expect?.exists === undefined ? 0 : expect.exists ? 1 : 2;
  const wants = brief ? 0 : known ? 2 : 1;
  let [sets, dropped] = [0, stamps?.size ?? 0];
  for (const value of set.values()) {
    if (value === null) dropped += 2;
    else sets += 2;
  }
  const flags = String.fromCharCode(tagLength, keys, exists, ttlMs === null ? 1 : 0, wants, indexKeys ? 1 : 0);
  const counts = [values.length, absent, sets, dropped, stamps?.size ?? 0, indexKeys?.length ?? 0];
  args.addBytes(flags + String.fromCharCode(...counts) + member);
  args.addAll(names).addAll(values);
  if (wants === 2) args.add(String(known!.revision));
  const start = recordStart(name);
  for (const [field, value] of set) {
    if (value === null) continue;
    const { name, companion } = fieldArguments(field);
    args
      .addReady(name)
      .add(bytesOf(value))
      .addReady(companion)
      .addBytes(sumOfField(start, field, value));
  }
  for (const [field, value] of set) {
    if (value !== null) continue;
    const { name, companion } = fieldArguments(field);
    args.addReady(name).addReady(companion);
  }
  if (stamps) {
    // The server computes stamps, so a stamped field has no checksum until a caller sets the field.
    for (const field of stamps.keys()) args.addReady(fieldArguments(field).companion);
    for (const [field, offset] of stamps) args.addReady(fieldArguments(field).name).addBytes(String(offset));
  }
  if (indexKeys)
    for (const { start, offset } of indexKeys) args.addBytes(offset === null ? '' : String(offset)).add(start);
  return args;
}

const NO_CONDITIONS = { names: [] as string[], values: [] as Buffer[], absent: 0 };

/** Splits conditions into the names of fields, those that must be absent last, and the values of the others. */
function conditionsOf(fields: ReadonlyMap<string, Uint8Array | null> | undefined): typeof NO_CONDITIONS {
  if (!fields || fields.size === 0) return NO_CONDITIONS;
  const [names, absent, values] = [[] as string[], [] as string[], [] as Buffer[]];
  for (const [field, value] of fields) {
    if (value === null) absent.push(field);
    else {
      names.push(field);
      values.push(bytesOf(value));
    }
  }
  return { names: absent.length === 0 ? names : [...names, ...absent], values, absent: absent.length };
}

function outcomeOf(write: RecordWrite, known: StoredRecord | undefined, reply: Reply): RecordOutcome | null {
  const [code, now, ttl, fields] = (typeof reply === 'number' ? [reply] : reply) as [number, number, number, Buffer[]?];
  if (code < 0) return null;
  const flags = code % 8;
  const [applied, existed, revision] = [flags >= 4, flags % 4 >= 2, (code - flags) / 8];
  if (!applied && !existed) return { applied, existed, record: null };
  const stored = { revision, ttlMs: now === undefined || ttl === -1 ? null : ttl };
  if (now === undefined) return { applied, existed, record: { fields: NO_FIELDS, ...stored } };
  if (fields)
    return { applied, existed, record: { fields: parseRecord(write.name, fields)?.fields ?? NO_FIELDS, ...stored } };
  const after = fieldsAfter(new Map(existed && known ? known.fields : NO_FIELDS), write, now);
  return { applied, existed, record: { fields: after, ...stored } };
}

/** Changes the fields of a record as a step that merges does, like core's `recordAfter` but without copies of values. */
export function fieldsAfter(
  fields: Map<string, Uint8Array>,
  { set, stamps }: Pick<RecordWrite, 'set' | 'stamps'>,
  now: number,
): Fields {
  for (const [field, value] of set) {
    if (value === null) fields.delete(field);
    else fields.set(field, value);
  }
  if (stamps) for (const [field, offset] of stamps) fields.set(field, Buffer.from(String(now + offset)));
  return fields;
}
