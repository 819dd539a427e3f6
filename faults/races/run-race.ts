/** Plays rounds of one race on one engine and adds up what they found. */
import { newSeed, Random } from '../random.ts';
import { type EngineName, newPlace } from './engines.ts';
import type { Race, RoundResult } from './race.ts';

/** Slow machines make everybody wait; a time limit that passes is not what a race is about. */
const PATIENT = { timeoutMs: 30_000 };

export interface RaceOptions {
  rounds: number;
  seed?: number;
  /** Called after each round with what was found so far. */
  onRound?: (played: number, total: RoundResult) => void;
}

export async function runRace(race: Race, engine: EngineName, options: RaceOptions): Promise<RoundResult> {
  const random = new Random(options.seed ?? newSeed());
  const total: RoundResult = { checks: 0, problems: [] };
  const place = await newPlace(engine);
  try {
    const settings = { ...PATIENT, ...race.options };
    const [a, b] = race.open
      ? await race.open(place, settings)
      : [await place.open(settings), await place.open(settings)];
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
    await place.remove();
  }
  return total;
}

/** The engines a race runs on, narrowed to those that are asked for. */
export function enginesOf(race: Race, all: readonly EngineName[], wanted: readonly string[] = all): EngineName[] {
  return (race.engines ?? all).filter((engine) => wanted.includes(engine));
}
