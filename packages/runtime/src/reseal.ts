/** Encrypts sealed fields of records again with the current key, so that an old key is no longer needed (KV-11). */
import { invalidArgument, type KvEntry, type KvRecord, type Store, TidemarkError } from '@tidemark/core';
import { itemsOf, tenantsOf } from './listing.ts';

const PAGE = 100;
/** The maximum number of attempts for a record that other writers keep changing. */
const MAX_TRIES = 50;

/** Options of `resealRecords`. */
export interface ResealOptions {
  /** Only records whose key starts with this prefix. Default: all records. */
  prefix?: string;
  /** Ends the work after the current record. */
  signal?: AbortSignal;
}

/** The result of `resealRecords`. */
export interface ResealReport {
  /** The number of records read. */
  records: number;
  /** The number of records with sealed fields, which are now encrypted with the current key. */
  resealed: number;
  /** False if the signal ended the call early. */
  complete: boolean;
}

/**
 * Encrypts the sealed fields of all records with the current key of the codec, in all tenants or in the tenant of a
 * view. Afterwards, an old key can be removed from the key ring once no other payload is encrypted with it. Values,
 * other fields and times to live stay the same; revisions increase. The call can be repeated after a failure.
 *
 * Make the new key `current` in all processes first. Otherwise a process could still write with the old key after this
 * call has passed the record.
 *
 * @throws `CODEC_FAILED` if a sealed field cannot be opened. `CORRUPT_VALUE` if a record does not match its checksum.
 *   `OVERLOADED` if other writers change a record so often that it cannot be written.
 *
 * @example
 * const keys = { old: crypto.getRandomValues(new Uint8Array(32)), new: crypto.getRandomValues(new Uint8Array(32)) };
 * const store = await open('sqlite:app.db', { codec: encryption({ keys, current: 'new' }) });
 * console.log(await resealRecords(store)); // { records: 0, resealed: 0, complete: true }
 */
export async function resealRecords(store: Store, options: ResealOptions = {}): Promise<ResealReport> {
  const { prefix = '', signal } = options;
  if (typeof prefix !== 'string') throw invalidArgument('prefix', 'a string', prefix);
  const report = { records: 0, resealed: 0, complete: true };
  for await (const tenantId of tenantsOf(store)) {
    const { kv } = store.forTenant(tenantId);
    for await (const entry of entriesOf(kv, prefix)) {
      if (signal?.aborted) return { ...report, complete: false };
      report.records++;
      if (await reseal(kv, entry)) report.resealed++;
    }
  }
  return report;
}

async function* entriesOf(kv: Store['kv'], prefix: string): AsyncGenerator<KvEntry> {
  const damaged: string[] = [];
  yield* itemsOf(async (cursor) => {
    const page = await kv.scanPage(prefix, { ...cursor, limit: PAGE });
    damaged.push(...(page.damaged ?? []));
    return page;
  });
  // Throws the error of the first damaged record, after all other records were sealed again.
  if (damaged.length > 0) await kv.get(damaged[0]!);
}

/** Encrypts the sealed fields of a record again. Returns whether the record has any. */
async function reseal(kv: Store['kv'], { key, record }: KvEntry): Promise<boolean> {
  let now: KvRecord | null = record;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (!now?.sealed) return false;
    const { fields, revision, sealed }: KvRecord = now;
    // Unlike an assignment, this also creates a field named `__proto__`.
    const set = Object.fromEntries(sealed!.map((field) => [field, fields[field]!]));
    const result = await kv.swap(key, { expectedRevision: revision, set, sealed: true });
    if (result.swapped) return true;
    now = result.record;
  }
  throw new TidemarkError('OVERLOADED', `Others change the record ${JSON.stringify(key)} all the time; try again`);
}
