/** Registers short versions of the races in `faults/races/`: two actors on the same data at the same moment. */
import { describe, expect, it } from 'vitest';
import { ENGINES, type EngineName } from '../../../faults/races/engines.ts';
import { RACES } from '../../../faults/races/index.ts';
import { enginesOf, runRace } from '../../../faults/races/run-race.ts';
import { neededServers } from '../../../scripts/servers/index.ts';

/** Engines that need no server. */
export const EMBEDDED: readonly EngineName[] = ['memory', 'sqlite'];
const LIMIT = { timeout: 180_000 };

/** Runs every race on the engines that it concerns. Skips engines that this test run excludes. */
export function registerRaces(engines: readonly EngineName[]): void {
  const available: readonly string[] = [...EMBEDDED, ...neededServers()];
  const races = Object.entries(RACES).map(([name, race]) => ({ name, race, on: enginesOf(race, ENGINES, engines) }));
  describe.for(races.filter(({ on }) => on.length > 0))('race $name', ({ race, on }) => {
    for (const engine of on)
      it.skipIf(!available.includes(engine))(`on ${engine}`, LIMIT, async () => {
        const { checks, problems } = await runRace(race, engine, { rounds: race.rounds.short });
        expect(problems).toEqual([]);
        expect(checks).toBeGreaterThan(0);
      });
  });
}
