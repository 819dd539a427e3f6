/** An LRU cache of the last head this process saw of each run, and of the losses it has reported. */
import type { RunKey } from '../engine/run-key.ts';
import { LruMap } from './lru-map.ts';

/** How many heads are remembered. Evicted runs are unknown again. */
const MAX_HEADS = 10_000;
const INCIDENT_MS = 60_000;

/** The known part of a head. The result of an append, for example, contains little more than the sequence. */
export interface KnownHead {
  seq: number;
  /** A `Digest`; typed as string because the module of `Digest` needs Node, which the client cannot use. */
  link: string | null;
  rewrites: number | null;
  createdAt: number | null;
}

/**
 * Returns the key of a run across tenants. Callers that need it twice should compute it only once, because the cost
 * matters for appends.
 */
export function headKey({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

/** The last sequence seen earlier, and the current last sequence. */
interface Loss {
  knownSeq: number;
  currentSeq: number;
}

export class HeadMemory {
  readonly #heads = new LruMap<string, KnownHead>(MAX_HEADS);
  /** The last reported loss of each run. */
  readonly #reported = new LruMap<string, Loss & { at: number }>(MAX_HEADS);

  /** Returns the known head itself, which `advance` changes. Copy it to compare it with a later head. */
  get(key: string): KnownHead | null {
    return this.#heads.peek(key) ?? null;
  }

  /** Stores a head unless a later one is known. */
  note(key: string, head: KnownHead): void {
    const known = this.#heads.peek(key);
    if (known && (known.rewrites ?? 0) === (head.rewrites ?? known.rewrites ?? 0) && known.seq > head.seq) return;
    this.set(key, head);
  }

  /**
   * Moves a head that `get` returned to the sequence that an append reached. Changes the entry in place, because this
   * runs after every append. Returns `false` and changes nothing if another head has been stored since.
   */
  advance(key: string, known: KnownHead, seq: number): boolean {
    if (this.#heads.peek(key) !== known) return false;
    if (seq > known.seq) {
      known.seq = seq;
      known.link = null;
    }
    return true;
  }

  /**
   * Evicts the run that was added first, because moving a run to the end with every append costs more than it saves.
   */
  set(key: string, { seq, link, rewrites, createdAt }: KnownHead): void {
    this.#heads.replace(key, { seq, link, rewrites, createdAt });
  }

  forget(key: string): void {
    this.#heads.delete(key);
  }

  /**
   * Whether this loss is new, so that each is reported once. Readers that knew different heads of a run (a snapshot,
   * the projector) notice the same loss: within a minute, a loss from a lower known head, or to the same current head,
   * counts as the same.
   */
  isNewLoss(key: string, { knownSeq, currentSeq }: Loss): boolean {
    const known = this.#reported.get(key);
    const now = performance.now();
    if (known) {
      const isSame = knownSeq <= known.knownSeq || currentSeq === known.currentSeq;
      if (knownSeq === known.knownSeq || (isSame && now - known.at < INCIDENT_MS)) return false;
    }
    this.#reported.set(key, { knownSeq, currentSeq, at: now });
    return true;
  }
}
