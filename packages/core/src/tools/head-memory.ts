/** The last head that this process saw of each run, of so many runs as memory allows, and the losses it has reported. */
import type { RunKey } from '../engine/run-key.ts';
import { LruMap } from './lru-map.ts';

/** Heads that are remembered; of a run that fell out nothing is known any more. */
const MOST_HEADS = 10_000;
const INCIDENT_MS = 60_000;

/** A head as far as it is known: the result of an append has its sequence and little else. */
export interface KnownHead {
  seq: number;
  /** A `Digest`. Its module needs Node, which the client does not have. */
  link: string | null;
  rewrites: number | null;
  createdAt: number | null;
}

/** Names a run among all tenants. Callers that look twice compute it once: an append is too short for two. */
export function headKey({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

/** The last sequence that was seen before, and the last one now. */
interface Loss {
  knownSeq: number;
  currentSeq: number;
}

export class HeadMemory {
  readonly #heads = new LruMap<string, KnownHead>(MOST_HEADS);
  /** The last loss of each run that was reported. */
  readonly #reported = new LruMap<string, Loss & { at: number }>(MOST_HEADS);

  get(key: string): KnownHead | null {
    return this.#heads.peek(key) ?? null;
  }

  /** Remembers a head unless a later one is known. */
  note(key: string, head: KnownHead): void {
    const known = this.#heads.peek(key);
    if (known && (known.rewrites ?? 0) === (head.rewrites ?? known.rewrites ?? 0) && known.seq > head.seq) return;
    this.set(key, head);
  }

  /** The run that was first seen longest ago makes room: to move a run to the end with every append costs more than it saves. */
  set(key: string, head: KnownHead): void {
    this.#heads.replace(key, head);
  }

  forget(key: string): void {
    this.#heads.delete(key);
  }

  /**
   * Whether this loss is new; each is reported once. Readers that knew different heads of a run (a snapshot, the projector) notice
   * the same loss: within a minute one that knew less, or found the same head, belongs to it.
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
