/**
 * Decides which artifact bytes can be removed, on backends that cannot write a reference and check its bytes in one
 * step. A writer announces the hash before it stores the bytes, and retracts the announcement after it stores the
 * reference. A removal reads blob versions first, then announcements, then references, so bytes that are announced
 * later have a newer version.
 */
import type { BlobInfo, Blobs } from '../engine/blobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordName, Records } from '../engine/records.ts';
import type { StoreContext } from '../tools/context.ts';
import { joinKey, keyPrefix, splitKey } from '../tools/joined-keys.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import type { KeyedReferences } from './artifact-references.ts';
import { scanRecords } from './scan.ts';

/**
 * How long an announcement outlives a crashed writer. A writer that stalls for longer notices that its announcement has
 * expired, and checks its bytes again.
 */
const ANNOUNCED_FOR_MS = 3_600_000;
/** How long to keep the marks of a crashed erasure whose bytes are still referenced. */
const MARKED_FOR_MS = 24 * 3_600_000;
const PAGE = 500;
const PENDING = 'pending';
const ERASING = 'erasing';

/** Removed references and bytes. */
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

  /**
   * Announces a reference to a hash. Returns a function that retracts the announcement, and that returns false if the
   * announcement had expired.
   */
  async announce(tenantId: string, sha256: string, call: EngineCall): Promise<() => Promise<boolean>> {
    // The hash comes last, because on Redis it determines the bucket, for announcements and bytes alike.
    const name = nameOf(tenantId, [PENDING, this.#context.uuid(), sha256]);
    await this.#records.write({ name, mode: 'replace', set: fieldsOf({ sha256 }), ttlMs: ANNOUNCED_FOR_MS }, call);
    return async () => (await this.#records.write({ name, mode: 'delete', set: new Map() }, call)).existed;
  }

  /**
   * Marks the bytes that an erasure is about to release, so that the next erasure can finish after a crash. Returns a
   * function that removes the marks.
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

  /** Removes unreferenced bytes that this erasure or an interrupted one has released. */
  async finishErasures(tenantId: string, call: EngineCall): Promise<Removed> {
    const markKeys: string[] = [];
    const prefix = keyPrefix([ERASING]);
    for await (const { key } of scanRecords(this.#records, 'artifacts', tenantId, { prefix }, call)) markKeys.push(key);
    if (markKeys.length === 0) return { references: 0, blobs: [] };
    const stored = await this.#blobs.info(tenantId, [...new Set(markKeys.map(hashOf))], call);
    const removed = await this.removeUnreferenced(tenantId, stored, null, call);
    // Keep the marks of bytes that are still referenced: an erasure in progress may own them. They expire on their own.
    const left = new Set(stored.filter((blob) => !removed.blobs.includes(blob)).map(({ sha256 }) => sha256));
    for (const key of markKeys.filter((key) => !left.has(hashOf(key)))) {
      const name: RecordName = { space: 'artifacts', tenantId, key };
      await this.#records.write({ name, mode: 'delete', set: new Map() }, call);
    }
    return removed;
  }

  /** Removes blobs that are neither referenced nor announced. With `expiredBy`, removes expired references first. */
  async removeUnreferenced(
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
 * Yields all blobs of one tenant in a single array, or one array per tenant if `only` is `null`. A tenant's blobs are
 * not split across arrays, because their versions must be read before its references.
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
