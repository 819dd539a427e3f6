/**
 * Which bytes of artifacts may go, on backends that cannot write a reference and look at its bytes in one step. Whoever
 * stores announces the hash before the bytes and takes the announcement back after the reference. Whoever removes reads
 * versions first, then announcements, then references: what is announced later has another version by then.
 */

import type { BlobInfo, Blobs } from '../engine/blobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordName, Records } from '../engine/records.ts';
import type { StoreContext } from '../tools/context.ts';
import { joinKey, keyPrefix, splitKey } from '../tools/joined-keys.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import type { KeyedReferences } from './artifact-references.ts';
import { scanRecords } from './scan.ts';

/** An announcement outlives a crashed writer by at most this; a writer that stalls longer finds it gone and looks again. */
const ANNOUNCED_FOR_MS = 3_600_000;
/** Marks of a crashed erasure whose bytes are still named are of no use for longer. */
const MARKED_FOR_MS = 24 * 3_600_000;
const PAGE = 500;
const PENDING = 'pending';
const ERASING = 'erasing';

/** Expired references and bytes that were removed. */
interface Removed {
  references: number;
  blobs: BlobInfo[];
}

export class KeyedBytes {
  readonly #context: Pick<StoreContext, 'uuid'>;
  readonly #records: Records;
  readonly #blobs: Blobs;
  readonly #references: KeyedReferences;

  constructor(context: Pick<StoreContext, 'uuid'>, records: Records, blobs: Blobs, references: KeyedReferences) {
    this.#context = context;
    this.#records = records;
    this.#blobs = blobs;
    this.#references = references;
  }

  /** Announces that a reference to a hash is on its way. Returns what ends that: false when it had ended before. */
  async announce(tenantId: string, sha256: string, call: EngineCall): Promise<() => Promise<boolean>> {
    // The hash comes last: on Redis it then decides the bucket, for announcements as for bytes.
    const name = nameOf(tenantId, [PENDING, this.#context.uuid(), sha256]);
    await this.#records.write({ name, mode: 'replace', set: fieldsOf({ sha256 }), ttlMs: ANNOUNCED_FOR_MS }, call);
    return async () => (await this.#records.write({ name, mode: 'delete', set: new Map() }, call)).existed;
  }

  /**
   * Notes which bytes an erasure is about to release, so that the next one finishes what a crash cuts short. Returns what
   * removes the notes.
   */
  async markErasing(tenantId: string, hashes: Iterable<string>, call: EngineCall): Promise<() => Promise<void>> {
    const erasure = this.#context.uuid();
    const names = [...new Set(hashes)].map((sha256) => nameOf(tenantId, [ERASING, erasure, sha256]));
    for (const name of names)
      await this.#records.write({ name, mode: 'replace', set: fieldsOf({ erasure }), ttlMs: MARKED_FOR_MS }, call);
    return async () => {
      for (const name of names) await this.#records.write({ name, mode: 'delete', set: new Map() }, call);
    };
  }

  /** Removes bytes that erasures have released, this one or one that was cut short, and that nobody names. */
  async finishErasures(tenantId: string, call: EngineCall): Promise<Removed> {
    const marks: string[] = [];
    const prefix = keyPrefix([ERASING]);
    for await (const { key } of scanRecords(this.#records, 'artifacts', tenantId, { prefix }, call)) marks.push(key);
    if (marks.length === 0) return { references: 0, blobs: [] };
    const stored = await this.#blobs.info(tenantId, [...new Set(marks.map(hashOf))], call);
    const removed = await this.removeUnnamed(tenantId, stored, null, call);
    // Marks of bytes that somebody still names may belong to an erasure that is under way; otherwise they expire.
    const left = new Set(stored.filter((blob) => !removed.blobs.includes(blob)).map(({ sha256 }) => sha256));
    for (const key of marks.filter((key) => !left.has(hashOf(key)))) {
      const name: RecordName = { space: 'artifacts', tenantId, key };
      await this.#records.write({ name, mode: 'delete', set: new Map() }, call);
    }
    return removed;
  }

  /** Removes those of the blobs that nobody names or is about to; with a time, expired references before them. */
  async removeUnnamed(
    tenantId: string,
    candidates: readonly BlobInfo[],
    expiredBy: number | null,
    call: EngineCall,
  ): Promise<Removed> {
    const announced = new Set<string>();
    const prefix = keyPrefix([PENDING]);
    for await (const { key } of scanRecords(this.#records, 'artifacts', tenantId, { prefix }, call))
      announced.add(hashOf(key));
    const named = await this.#references.named(tenantId, expiredBy, call);
    const blobs: BlobInfo[] = [];
    for (const blob of candidates) {
      if (announced.has(blob.sha256) || named.hashes.has(blob.sha256)) continue;
      if (await this.#blobs.remove(blob, call)) blobs.push(blob);
    }
    return { references: named.removed, blobs };
  }
}

/**
 * The blobs of one tenant, or with `null` of each: all of a tenant together, since their versions must be known before the
 * references are read.
 */
export async function* blobsByTenant(
  blobs: Blobs,
  only: string | null,
  call: EngineCall,
): AsyncGenerator<BlobInfo[], void, undefined> {
  let stored: BlobInfo[] = [];
  for (let after: BlobPosition | null = only === null ? null : { tenantId: only, sha256: '' }; ; ) {
    const page: BlobInfo[] = await blobs.list(after, PAGE, call);
    for (const blob of page) {
      if (stored.length > 0 && stored[0]!.tenantId !== blob.tenantId) {
        yield stored;
        stored = [];
      }
      if (only !== null && blob.tenantId !== only) return;
      stored.push(blob);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!;
  }
  if (stored.length > 0) yield stored;
}

type BlobPosition = Pick<BlobInfo, 'tenantId' | 'sha256'>;

function nameOf(tenantId: string, parts: readonly string[]): RecordName {
  return { space: 'artifacts', tenantId, key: joinKey(parts) };
}

function hashOf(key: string): string {
  return splitKey(key).at(-1)!;
}
