/**
 * Encodes the most common steps for `change.lua`: they change fields of one record, and neither its time to live nor its
 * requests. All others go through `write.lua` (record-step.ts).
 */
import { type RecordOutcome, type RecordWrite, recordAfter, type StoredRecord } from '@tidemark/core/engine';
import { NO_PLACES, type Place, placesAfter } from './job-places.ts';
import type { Layout } from './layout.ts';
import { type Argument, Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';
import { companionOf, recordStart, sumOfField } from './record-sums.ts';
import { bytesOf, jobTypeOfRecord } from './record-step.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** A limit, because the number of fields, doubled by checksums, is encoded as one ASCII character. */
const MOST_FIELDS = 60;
const NO_VALUES: ReadonlyMap<string, Uint8Array | null> = new Map();

/** Returns whether `change.lua` can perform a step. Some steps are found unsuitable only when they meet the record. */
export function fitsChange(write: RecordWrite): boolean {
  const { mode, expect, set, stamps, ttlMs, requestId, answersBatch } = write;
  if (mode !== 'merge' || requestId !== undefined || answersBatch || expect?.revision !== undefined) return false;
  if (ttlMs !== undefined && ttlMs !== null) return false;
  if (set.size > MOST_FIELDS || (expect?.fields?.size ?? 0) > MOST_FIELDS) return false;
  return hasValues(write) || (stamps?.size ?? 0) > 0;
}

/** A record without fields is removed, which is for the general step. */
function hasValues({ set }: RecordWrite): boolean {
  for (const value of set.values()) if (value !== null) return true;
  return false;
}

export interface EncodedChange {
  keys: Encoded;
  args: Encoded;
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
  const places = isJob ? placesAfter(write) : null;
  if (isJob && !places) return null;
  const keys = new Encoded().add(layout.record(bucket, name));
  if (namesKeys) {
    keys.add(layout.names(bucket, name.space, name.tenantId)).add(layout.shared(bucket, 'revision'));
    if (isJob) for (const kind of ['jobs', 'job-places']) keys.add(layout.tenants(bucket, kind, name.tenantId));
  }
  const known = brief ? undefined : write.known;
  const args = encodeArguments(write, layout.tagLength(bucket), keys.count, brief, places);
  return { keys, args, decode: (reply) => outcomeOf(write, known, reply) };
}

function encodeArguments(
  { name, expect, set, stamps, ttlMs, known }: RecordWrite,
  tagLength: number,
  keys: number,
  brief: boolean,
  places: readonly Place[] | null,
): Encoded {
  const fields = expect?.fields ?? NO_VALUES;
  const [args, names, values, rest, dropped] = [new Encoded(), [] as string[], [] as Argument[], new Encoded(), [] as string[]];
  let absent = 0;
  let sets = 0;
  for (const [field, value] of fields) {
    if (value === null) continue;
    names.push(field);
    values.push(bytesOf(value));
  }
  for (const [field, value] of fields) {
    if (value !== null) continue;
    names.push(field);
    absent++;
  }
  const start = recordStart(name);
  for (const [field, value] of set) {
    if (value === null) dropped.push(field, companionOf(field));
    else {
      rest.add(field).add(bytesOf(value)).add(companionOf(field)).add(sumOfField(start, field, value));
      sets += 2;
    }
  }
  // The server computes stamps, so a stamped field has no checksum until a caller sets the field.
  if (stamps) for (const field of stamps.keys()) dropped.push(companionOf(field));
  const exists = expect?.exists === undefined ? 0 : expect.exists ? 1 : 2;
  const wants = brief ? 0 : known ? 2 : 1;
  const counts = [values.length, absent, sets, dropped.length, stamps?.size ?? 0, places?.length ?? 0];
  const flags = [exists, ttlMs === null ? 1 : 0, wants, places ? 1 : 0];
  args.add(String.fromCharCode(tagLength, keys, ...flags, ...counts) + name.key);
  args.addAll(names).addAll(values);
  if (wants === 2) args.add(String(known!.revision));
  args.append(rest).addAll(dropped);
  if (stamps) for (const [field, offset] of stamps) args.add(field).add(String(offset));
  for (const { start, offset } of places ?? NO_PLACES) args.add(offset === null ? '' : String(offset)).add(start);
  return args;
}

function outcomeOf(write: RecordWrite, known: StoredRecord | undefined, reply: Reply): RecordOutcome | null {
  const [code, now, ttl, fields] = (typeof reply === 'number' ? [reply] : reply) as [number, number, number, Buffer[]?];
  if (code < 0) return null;
  const flags = code % 8;
  const [applied, existed, revision] = [flags >= 4, flags % 4 >= 2, (code - flags) / 8];
  if (!applied && !existed) return { applied, existed, record: null };
  const stored = { revision, ttlMs: now === undefined || ttl === -1 ? null : ttl };
  if (now === undefined) return { applied, existed, record: { fields: NO_FIELDS, ...stored } };
  if (fields) return { applied, existed, record: { fields: parseRecord(write.name, fields)?.fields ?? NO_FIELDS, ...stored } };
  const before = existed && known ? { ...known, expiresAt: null } : undefined;
  return { applied, existed, record: { fields: recordAfter(write, before, revision, now)!.fields, ...stored } };
}
