/** Short versions of the races in `faults/races/`: two actors on the same data at the same moment, on every engine. */
import { describe, expect, it } from 'vitest';
import { ENGINES } from '../../../faults/races/engines.ts';
import { RACES } from '../../../faults/races/index.ts';
import { enginesOf, runRace } from '../../../faults/races/run-race.ts';
import { neededServers } from '../../../scripts/servers/index.ts';

const AVAILABLE: readonly string[] = ['memory', 'sqlite', ...neededServers()];
const LIMIT = { timeout: 180_000 };

describe.for(Object.entries(RACES))('race %s', ([, race]) => {
  it.for(enginesOf(race, ENGINES, AVAILABLE))('on %s', LIMIT, async (engine) => {
    const { checks, problems } = await runRace(race, engine, { rounds: race.rounds.short });
    expect(problems).toEqual([]);
    expect(checks).toBeGreaterThan(0);
  });
});
