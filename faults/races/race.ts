/**
 * A race lets two actors work on the same data at the same moment and then checks the result. Each race has its own
 * file in this folder and an entry in `index.ts`. `faults/races.ts` runs them on every engine.
 */
import type { Store, StoreOptions } from '@tidemark/core';
import type { Random } from '../random.ts';
import type { Database, EngineName } from './engines.ts';

/** The inputs of one round. */
export interface Arena {
  /** Two connections to the same data, as two processes would have. */
  a: Store;
  b: Store;
  engine: EngineName;
  random: Random;
  /** Unique to the round. Put it into every id, since rounds share the store. */
  id: string;
}

export interface RoundResult {
  /** The number of promises tested in the round, such as restores or heartbeats. */
  checks: number;
  /** One sentence per broken promise. */
  problems: string[];
}

export interface Race {
  /** Describes the two actors for the report. */
  summary: string;
  /** The engines it concerns, by default all. */
  engines?: readonly EngineName[];
  /** How both actors open the store, by default without options. */
  options?: StoreOptions;
  /** Opens the two connections if the actors do not open the store in the same way. */
  open?(database: Database, options: StoreOptions): Promise<[Store, Store]>;
  /** Rounds of the short version in `npm test`, and of `npm run soak`. */
  rounds: { short: number; long: number };
  round(arena: Arena): Promise<RoundResult>;
}
