/**
 * A race lets two actors work on the same data at the same moment and then checks what is left. Each race has a file of its
 * own in this folder and an entry in `index.ts`; `faults/races.ts` runs them on every engine.
 */
import type { Store, StoreOptions } from '@tidemark/core';
import type { Random } from '../random.ts';
import type { EngineName, Place } from './engines.ts';

/** What one round of a race works on. */
export interface Arena {
  /** Two connections to the same data, as two processes would have. */
  a: Store;
  b: Store;
  engine: EngineName;
  random: Random;
  /** Unique to the round: put it into every id, since rounds share the store. */
  id: string;
}

export interface RoundResult {
  /** How many promises the round put to the test, such as restores or heartbeats. */
  checks: number;
  /** One sentence per broken promise. */
  problems: string[];
}

export interface Race {
  /** What the two actors do, for the summary of the rig. */
  summary: string;
  /** The engines it concerns; all when absent. */
  engines?: readonly EngineName[];
  /** How both actors open the store; by default as everybody does. */
  options?: StoreOptions;
  /** Opens the two connections where the actors do not open the store alike. */
  open?(place: Place, options: StoreOptions): Promise<[Store, Store]>;
  /** Rounds of the short version in `npm test`, and of `npm run soak`. */
  rounds: { short: number; long: number };
  round(arena: Arena): Promise<RoundResult>;
}
