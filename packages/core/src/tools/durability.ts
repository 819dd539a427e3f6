/** The durability of a store that is made of several. */
import type { Durability } from '../contracts/store.ts';

/**
 * Sorted from the weakest guarantee to the strongest. `unknown` is weaker than every known durability except `none`.
 */
const DURABILITIES: readonly Durability[] = ['none', 'unknown', 'process-crash', 'host-crash', 'node-loss'];

/** Returns the weakest of several guarantees. */
export function weakestDurability(all: readonly Durability[]): Durability {
  return DURABILITIES.find((durability) => all.includes(durability))!;
}
