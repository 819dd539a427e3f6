/** Plays rounds of one race on one engine and sums up their results. */
import { newSeed, Random } from '../random.ts';
import { type EngineName, newDatabase } from './engines.ts';
import type { Race, RoundResult } from './race.ts';

/** A slow machine makes every call slow, and races do not test time limits. */
const SLOW_MACHINE = { timeoutMs: 30_000 };

export interface RaceOptions {
  rounds: number;
  seed?: number;
  /** Called after each round with the results so far. */
  onRound?: (played: number, total: RoundResult) => void;
}

export async function runRace(race: Race, engine: EngineName, options: RaceOptions): Promise<RoundResult> {
  const random = new Random(options.seed ?? newSeed());
  const total: RoundResult = { checks: 0, problems: [] };
  const database = await newDatabase(engine);
  try {
    const settings = { ...SLOW_MACHINE, ...race.options };
    const [a, b] = race.open
      ? await race.open(database, settings)
      : [await database.open(settings), await database.open(settings)];
    try {
      for (let played = 1; played <= options.rounds; played++) {
        const found = await race.round({ a, b, engine, random, id: `r${played}` });
        total.checks += found.checks;
        total.problems.push(...found.problems.map((problem) => `round ${played}: ${problem}`));
        options.onRound?.(played, total);
      }
    } finally {
      await Promise.all([a.close(), b.close()]);
    }
  } finally {
    await database.remove();
  }
  return total;
}

/** Returns the engines a race runs on, narrowed to the requested ones. */
export function enginesOf(race: Race, all: readonly EngineName[], wanted: readonly string[] = all): EngineName[] {
  return (race.engines ?? all).filter((engine) => wanted.includes(engine));
}
