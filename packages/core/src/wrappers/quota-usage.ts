/**
 * What a tenant has in the store: a record that all processes share, brought up to date by compare-and-swap about once a
 * second, and what this process has added since.
 */
import type { ArtifactRef } from '../contracts/artifacts.ts';
import type { Page } from '../contracts/common.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { ExportedEvent } from '../contracts/run-parts.ts';
import type { RunSummary } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import { numberOf } from '../kv/values.ts';

/** Counted things. */
export interface QuotaUsage {
  runs: number;
  /** Of the payloads of events as JSON text, and of artifacts. */
  bytes: number;
}

/** In the KV of the tenant itself, so that it goes with the tenant. */
const QUOTA_KEY = 'tidemark.quota';
const SYNC_EVERY_MS = 1_000;

export class SharedUsage {
  readonly #store: Store;
  readonly #clock: () => number;
  /** As the record said when it was read or written last. */
  #known: QuotaUsage = { runs: 0, bytes: 0 };
  /** What this process has added since, or holds for calls under way. */
  #own: QuotaUsage = { runs: 0, bytes: 0 };
  /** The part of it that is settled, and goes into the record. */
  #settled: QuotaUsage = { runs: 0, bytes: 0 };
  #syncedAt = Number.NEGATIVE_INFINITY;
  #syncing: Promise<void> | null = null;

  /** `store` is the view of the tenant. */
  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Makes sure that what is known is no older than a moment. */
  async current(): Promise<void> {
    if (this.#clock() - this.#syncedAt >= SYNC_EVERY_MS) await this.sync();
  }

  get total(): QuotaUsage {
    return { runs: this.#known.runs + this.#own.runs, bytes: this.#known.bytes + this.#own.bytes };
  }

  /** Whether the record lacks something that this process knows. */
  get isAhead(): boolean {
    return this.#settled.runs !== 0 || this.#settled.bytes !== 0;
  }

  hold(runs: number, bytes: number): void {
    this.#own = { runs: this.#own.runs + runs, bytes: this.#own.bytes + bytes };
  }

  /** Of what was held, so much has come to be; the rest is given back. */
  settle(held: QuotaUsage, came: QuotaUsage): void {
    this.hold(came.runs - held.runs, came.bytes - held.bytes);
    this.#settled = { runs: this.#settled.runs + came.runs, bytes: this.#settled.bytes + came.bytes };
  }

  /** Puts what is settled into the record and learns what others have put there. */
  sync(): Promise<void> {
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = null;
    });
    return this.#syncing;
  }

  async #sync(): Promise<void> {
    const record = await this.#store.kv.get(QUOTA_KEY);
    if (record === null) return this.#begin();
    const stored = { runs: numberOf(record.fields.runs) ?? 0, bytes: numberOf(record.fields.bytes) ?? 0 };
    const added = this.#settled;
    if (added.runs === 0 && added.bytes === 0) return this.#learn(stored, added);
    const set = { runs: Math.max(0, stored.runs + added.runs), bytes: Math.max(0, stored.bytes + added.bytes) };
    const { swapped } = await this.#store.kv.swap(QUOTA_KEY, { expectedRevision: record.revision, set });
    return swapped ? this.#learn(set, added) : this.#sync();
  }

  /** Without a record the store itself is counted; whoever comes second takes the record of the first. */
  async #begin(): Promise<void> {
    const added = this.#settled;
    const counted = await countUsage(this.#store);
    const { swapped } = await this.#store.kv.swap(QUOTA_KEY, { expectedRevision: 0, set: { ...counted } });
    // What this process has settled meanwhile was there to be counted.
    return swapped ? this.#learn(counted, added) : this.#sync();
  }

  /** Counts the store anew and puts that into the record. */
  async recount(): Promise<QuotaUsage> {
    await this.#syncing;
    await this.#store.kv.delete(QUOTA_KEY);
    await this.sync();
    return this.total;
  }

  #learn(stored: QuotaUsage, added: QuotaUsage): void {
    this.#known = stored;
    this.#settled = { runs: this.#settled.runs - added.runs, bytes: this.#settled.bytes - added.bytes };
    this.hold(-added.runs, -added.bytes);
    this.#syncedAt = this.#clock();
  }
}

/** All runs and artifacts of a view, counted. */
async function countUsage(store: Store): Promise<QuotaUsage> {
  const usage: QuotaUsage = { runs: 0, bytes: 0 };
  for (let cursor: string | undefined; ; ) {
    const page: Page<RunSummary> = await store.runs.listRuns({ cursor, limit: 1_000 });
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

/** Artifacts whose key was destroyed cannot be listed, nor what stands behind them: they are left out. */
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

/** As they are stored: what no key opens any more takes room too. */
export async function bytesOfRun(store: Store, runId: string, tenantId?: string): Promise<number> {
  let bytes = 0;
  for await (const { events } of store.runs.exportRun(runId, { tenantId })) bytes += storedBytes(events);
  return bytes;
}

export function storedBytes(events: readonly Pick<ExportedEvent, 'payload'>[]): number {
  return events.reduce((sum, { payload }) => sum + Buffer.byteLength(payload ?? ''), 0);
}

/** Of a payload on its way in; one that is no JSON is refused by the store. */
export function payloadBytes({ payload }: Pick<RunEventInput, 'payload'>): number {
  if (payload === undefined) return 0;
  try {
    return Buffer.byteLength(JSON.stringify(payload));
  } catch {
    return 0;
  }
}
