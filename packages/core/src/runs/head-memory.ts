/** The last head that this process saw of each run, of so many runs as memory allows, and the losses it has reported. */
import type { RunKey } from '../engine/runs.ts';
import type { Digest } from '../hash.ts';

/** Heads that are remembered; of a run that fell out nothing is known any more. */
const MOST_HEADS = 10_000;

/** A head as far as it is known: the result of an append has its sequence and little else. */
export interface KnownHead {
  seq: number;
  link: Digest | null;
  rewrites: number | null;
  createdAt: number | null;
}

export class HeadMemory {
  readonly #heads = new Map<string, KnownHead>();
  readonly #reported = new Set<string>();

  get(run: RunKey): KnownHead | null {
    return this.#heads.get(keyOf(run)) ?? null;
  }

  /** Remembers a head unless a later one is known. */
  note(run: RunKey, head: KnownHead): void {
    const key = keyOf(run);
    const known = this.#heads.get(key);
    if (known && (known.rewrites ?? 0) === (head.rewrites ?? known.rewrites ?? 0) && known.seq > head.seq) return;
    this.#put(key, head);
  }

  set(run: RunKey, head: KnownHead): void {
    this.#put(keyOf(run), head);
  }

  #put(key: string, head: KnownHead): void {
    this.#heads.delete(key);
    this.#heads.set(key, head);
    if (this.#heads.size > MOST_HEADS) this.#heads.delete(this.#heads.keys().next().value!);
  }

  forget(run: RunKey): void {
    this.#heads.delete(keyOf(run));
  }

  /** Whether this loss is new; each is reported once. */
  isNewLoss(run: RunKey, knownSeq: number): boolean {
    const loss = `${keyOf(run)}\0${knownSeq}`;
    if (this.#reported.has(loss)) return false;
    this.#reported.add(loss);
    if (this.#reported.size > MOST_HEADS) this.#reported.delete(this.#reported.values().next().value!);
    return true;
  }
}

function keyOf({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}
