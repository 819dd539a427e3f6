/**
 * The usage of a tenant: a record that all processes share, updated by compare-and-swap about once a second, plus what
 * this process has added since.
 */
import type { ArtifactRef } from '../contracts/artifacts.ts';
import type { Page } from '../contracts/common.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { ExportedEvent } from '../contracts/run-parts.ts';
import type { RunSummary } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import { numberOf } from '../kv/values.ts';

/** The usage of a tenant. */
export interface QuotaUsage {
  runs: number;
  /** Bytes of the payloads of run events as JSON text, and of artifacts. */
  bytes: number;
}

/** The key of the record in the tenant's own KV, so that erasing the tenant removes it too. */
const QUOTA_KEY = 'tidemark.quota';
const SYNC_EVERY_MS = 1_000;

export class SharedUsage {
  readonly #store: Store;
  readonly #clock: () => number;
  /** The record as last read or written. */
  #known: QuotaUsage = { runs: 0, bytes: 0 };
  /** The usage that this process has added since, or has reserved for calls in progress. */
  #own: QuotaUsage = { runs: 0, bytes: 0 };
  /** The settled part of `#own`, which the next sync adds to the record. */
  #settled: QuotaUsage = { runs: 0, bytes: 0 };
  #syncedAt = Number.NEGATIVE_INFINITY;
  #syncing: Promise<void> | null = null;

  /** `store` is the view of the tenant. */
  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Syncs with the record unless that was done within the last second. */
  async current(): Promise<void> {
    if (this.#clock() - this.#syncedAt >= SYNC_EVERY_MS) await this.sync();
  }

  get total(): QuotaUsage {
    return { runs: this.#known.runs + this.#own.runs, bytes: this.#known.bytes + this.#own.bytes };
  }

  /** Whether this process has settled usage that the record does not include. */
  get isAhead(): boolean {
    return this.#settled.runs !== 0 || this.#settled.bytes !== 0;
  }

  hold(runs: number, bytes: number): void {
    this.#own = { runs: this.#own.runs + runs, bytes: this.#own.bytes + bytes };
  }

  /** Settles a reservation: counts the part that was used and releases the rest. */
  settle(held: QuotaUsage, used: QuotaUsage): void {
    this.hold(used.runs - held.runs, used.bytes - held.bytes);
    this.#settled = { runs: this.#settled.runs + used.runs, bytes: this.#settled.bytes + used.bytes };
  }

  /** Adds the settled usage to the record and reads what other processes added. */
  sync(): Promise<void> {
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = null;
    });
    return this.#syncing;
  }

  async #sync(): Promise<void> {
    const record = await this.#store.kv.get(QUOTA_KEY);
    if (record === null) return this.#create();
    const stored = { runs: numberOf(record.fields.runs) ?? 0, bytes: numberOf(record.fields.bytes) ?? 0 };
    const added = this.#settled;
    if (added.runs === 0 && added.bytes === 0) return this.#synced(stored, added);
    const set = { runs: Math.max(0, stored.runs + added.runs), bytes: Math.max(0, stored.bytes + added.bytes) };
    const { swapped } = await this.#store.kv.swap(QUOTA_KEY, { expectedRevision: record.revision, set });
    return swapped ? this.#synced(set, added) : this.#sync();
  }

  /** Creates the record by counting the store. If another process created it first, uses that record. */
  async #create(): Promise<void> {
    const added = this.#settled;
    const counted = await countUsage(this.#store);
    const { swapped } = await this.#store.kv.swap(QUOTA_KEY, { expectedRevision: 0, set: { ...counted } });
    // `added` was stored before the count, so the count includes it.
    return swapped ? this.#synced(counted, added) : this.#sync();
  }

  /** Counts the store again and replaces the record with the result. */
  async recount(): Promise<QuotaUsage> {
    await this.#syncing;
    await this.#store.kv.delete(QUOTA_KEY);
    await this.sync();
    return this.total;
  }

  #synced(stored: QuotaUsage, added: QuotaUsage): void {
    this.#known = stored;
    this.#settled = { runs: this.#settled.runs - added.runs, bytes: this.#settled.bytes - added.bytes };
    this.hold(-added.runs, -added.bytes);
    this.#syncedAt = this.#clock();
  }
}

/** Counts all runs and artifacts of a view. */
async function countUsage(store: Store): Promise<QuotaUsage> {
  const usage: QuotaUsage = { runs: 0, bytes: 0 };
  for (let cursor: string | undefined; ; ) {
    const page: Page<RunSummary> = await store.runs.listRuns({ cursor, owner: 'any', limit: 1_000 });
    for (const { runId } of page.items) {
      usage.runs++;
      usage.bytes += await bytesOfRun(store, runId);
    }
    if (page.next === undefined) break;
    cursor = page.next;
  }
  usage.bytes += await bytesOfArtifacts(store);
  return usage;
}

/**
 * Counts the bytes of artifacts. An artifact whose key was destroyed ends the list. That artifact and all later
 * artifacts are not counted.
 */
async function bytesOfArtifacts(store: Store): Promise<number> {
  let bytes = 0;
  if (!store.info.capabilities.artifacts) return bytes;
  try {
    for (let cursor: string | undefined; ; ) {
      const page: Page<ArtifactRef> = await store.artifacts.list({}, { cursor, limit: 1_000 });
      for (const { sizeBytes } of page.items) bytes += sizeBytes;
      if (page.next === undefined) return bytes;
      cursor = page.next;
    }
  } catch (error) {
    if (isTidemarkError(error, 'CODEC_FAILED')) return bytes;
    throw error;
  }
}

/** Counts the stored bytes of a run, including payloads whose key was destroyed. */
export async function bytesOfRun(store: Store, runId: string, tenantId?: string): Promise<number> {
  let bytes = 0;
  for await (const { events } of store.runs.exportRun(runId, { tenantId })) bytes += storedBytes(events);
  return bytes;
}

export function storedBytes(events: readonly Pick<ExportedEvent, 'payload'>[]): number {
  return events.reduce((sum, { payload }) => sum + Buffer.byteLength(payload ?? ''), 0);
}

/** Returns the size of an event's payload as JSON, or 0 for a value that is not JSON, which the store rejects. */
export function payloadBytes({ payload }: Pick<RunEventInput, 'payload'>): number {
  if (payload === undefined) return 0;
  try {
    return Buffer.byteLength(JSON.stringify(payload));
  } catch {
    return 0;
  }
}
