/**
 * Runs the races of `faults/races/`: two actors on the same data at the same moment, on every engine they concern.
 * `--race NAME` selects one (default: all), `--engines sqlite,redis` narrows the engines, `--rounds N` sets the rounds
 * for all, `--seed N` repeats the random choices of an earlier run.
 */
import { parseArgs } from 'node:util';
import { ENGINES, type EngineName } from './races/engines.ts';
import { RACES } from './races/index.ts';
import { enginesOf, runRace } from './races/run-race.ts';
import { newSeed } from './random.ts';

const { values } = parseArgs({
  options: {
    race: { type: 'string' },
    engines: { type: 'string', default: ENGINES.join(',') },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

const MAX_SHOWN = 10;
const PROGRESS_EVERY_MS = 10_000;

async function play(name: string, engine: EngineName): Promise<boolean> {
  const race = RACES[name]!;
  const rounds = Number(values.rounds ?? race.rounds.long);
  let reportedAt = Date.now();
  const onRound = (played: number, { problems }: { problems: string[] }) => {
    if (Date.now() - reportedAt < PROGRESS_EVERY_MS) return;
    reportedAt = Date.now();
    console.error(`${name}: ${engine}: round ${played} of ${rounds}, ${problems.length} problems`);
  };
  const { checks, problems } = await runRace(race, engine, { rounds, seed: Number(values.seed), onRound });
  for (const problem of problems.slice(0, MAX_SHOWN)) console.error(`${name}: ${engine}: ${problem}`);
  console.log(`${name}: ${engine}: ${rounds} rounds, ${checks} checks, ${problems.length} problems`);
  return problems.length === 0;
}

const names = values.race === undefined ? Object.keys(RACES) : values.race.split(',');
const unknown = names.find((name) => !Object.hasOwn(RACES, name));
if (unknown !== undefined) {
  console.error(`There is no race ${unknown}; choose from ${Object.keys(RACES).join(', ')}`);
  process.exit(2);
}
console.error(`races: seed ${values.seed}`);
for (const name of names) {
  for (const engine of enginesOf(RACES[name]!, ENGINES, values.engines.split(',')))
    if (!(await play(name, engine))) process.exitCode = 1;
}
