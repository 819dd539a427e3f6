/**
 * `npm run mutants`: changes one operator or condition at a time in `core`, `sql` and the Lua scripts, runs the tests
 * on a copy, and lists the changes that no test detected. Most of them are in the copy at once, behind switches, and
 * each test runs with the mutants that it evaluates. `--sample 200` (the default) tries that many, picked by
 * `--seed`; `--skip 100` skips the first of them, which an earlier run has tested; `--all` tries every one, which takes
 * hours; a path narrows it: `npm run mutants -- packages/core/src/jobs`. `--only TEXT` tries those whose description
 * contains it. A mutant that cannot change behaviour is listed in `scripts/mutants/equivalent.json` with its reason and
 * is not counted.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../faults/random.ts';
import { judgeAlone, type Verdict } from './mutants/alone.ts';
import { luaMutants } from './mutants/lua.ts';
import { describeMutant, type Mutant, mutated } from './mutants/mutant.ts';
import { TIMED_OUT } from './mutants/notes.ts';
import { Sandbox } from './mutants/sandbox.ts';
import { STAGES, serversFor } from './mutants/stages.ts';
import { type Switched, withSwitches } from './mutants/switches.ts';
import { judgeSwitched } from './mutants/switching.ts';
import { typescriptMutants } from './mutants/typescript.ts';
import { ROOT } from './processes.ts';
import { announce, startServers, stopServers } from './servers/index.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '200' },
    all: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    skip: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
  },
});

const SOURCES = ['packages/core/src/**/*.ts', 'packages/sql/src/**/*.ts', 'packages/redis/scripts/*.lua'];
/** Types and lists of names contain nothing to change. */
const LEFT_OUT = /\.test\.ts$|\/index\.ts$|\/contracts\//;

/** Descriptions of mutants that cannot change behaviour, each with the reason. */
const EQUIVALENT: Record<string, string> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'mutants/equivalent.json'), 'utf8'),
);

const VERDICTS: readonly Verdict[] = ['killed', 'timed out', 'survived'];

const textOf = new Map<string, string>();

function allMutants(): Mutant[] {
  const files = globSync(SOURCES, { cwd: ROOT })
    .filter((file) => !LEFT_OUT.test(file) && (positionals.length === 0 || positionals.some((it) => file.includes(it))))
    .sort();
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    textOf.set(file, text);
    return file.endsWith('.lua') ? luaMutants(file, text) : typescriptMutants(file, text);
  });
}

/** Returns a random sample, evenly spread over the files. */
function sampleOf(mutants: readonly Mutant[], size: number): Mutant[] {
  const random = new Random(Number(values.seed));
  const left = [...mutants];
  const chosen: Mutant[] = [];
  while (chosen.length < size && left.length > 0) chosen.push(left.splice(random.between(0, left.length), 1)[0]!);
  return chosen;
}

/** Ignores the line number, which moves with every edit above it. */
function isEquivalent(description: string): boolean {
  return Object.hasOwn(EQUIVALENT, description.replace(/:\d+ {2}/, '  '));
}

async function judgeAll(mutants: readonly Mutant[]): Promise<Map<Verdict, number>> {
  const counts = new Map<Verdict, number>(VERDICTS.map((it) => [it, 0]));
  const report = (verdict: Verdict, mutant: Mutant, how = '') => {
    counts.set(verdict, counts.get(verdict)! + 1);
    console.log(`${verdict}  ${describeMutant(textOf.get(mutant.file)!, mutant)}${how}`);
  };
  const sandbox = new Sandbox();
  try {
    const { survivors, notReached, left } = await judgeTogether(sandbox, mutants, report);
    for (const mutant of [...mutants.filter((it) => !it.host), ...left]) {
      const source = textOf.get(mutant.file)!;
      report(await judgeAlone(sandbox, mutant.file, mutated(source, mutant), source), mutant);
    }
    for (const mutant of survivors) report('survived', mutant, notReached.has(mutant) ? '  (not reached)' : '');
  } finally {
    sandbox.remove();
  }
  return counts;
}

/** Tests all mutants that have a switch, stage by stage. Returns the mutants that no test detected. */
async function judgeTogether(
  sandbox: Sandbox,
  mutants: readonly Mutant[],
  report: (verdict: Verdict, mutant: Mutant, how: string) => void,
): Promise<{ survivors: Mutant[]; notReached: Set<Mutant>; left: Mutant[] }> {
  const all = mutants.filter(isSwitchable).map((mutant, id): Switched => ({ id, mutant }));
  const files = [...Map.groupBy(all, ({ mutant }) => mutant.file)];
  for (const [file, changes] of files) sandbox.write(file, withSwitches(textOf.get(file)!, changes));
  const open = new Map(all.map((it) => [it.id, it]));
  const [reached, loaded] = [new Set<number>(), new Set<number>()];
  for (const stage of STAGES) {
    const mine = [...open.values()].filter(({ mutant }) => stage.runs(mutant.file));
    if (mine.length === 0) continue;
    console.error(`mutants: ${stage.name}: ${mine.length} of ${all.length} are left`);
    const judgement = await judgeSwitched(sandbox, stage, mine, ({ id, test, error }) => {
      const verdict = error === TIMED_OUT ? 'timed out' : 'killed';
      report(verdict, open.get(id)!.mutant, `\n    ${test}: ${error.split('\n')[0]}`);
      open.delete(id);
    });
    for (const id of judgement.reached) reached.add(id);
    for (const id of judgement.loaded) loaded.add(id);
    for (const test of judgement.excluded) console.error(`mutants: not used: ${test}`);
  }
  for (const [file] of files) sandbox.write(file, textOf.get(file)!);
  const isLeft = (id: number) => loaded.has(id) && !reached.has(id);
  const pick = (matches: (id: number) => boolean) => [...open].filter(([id]) => matches(id)).map(([, it]) => it.mutant);
  return {
    survivors: pick((id) => !isLeft(id)),
    notReached: new Set(pick((id) => !reached.has(id))),
    left: pick(isLeft),
  };
}

function isSwitchable(mutant: Mutant): mutant is Switched['mutant'] {
  return mutant.host !== undefined;
}

const found = allMutants();
const known = found.filter((mutant) => isEquivalent(describeMutant(textOf.get(mutant.file)!, mutant)));
const open = found.filter((mutant) => !known.includes(mutant));
const isAsked = (mutant: Mutant) => describeMutant(textOf.get(mutant.file)!, mutant).includes(values.only);
const picked = values.all || values.only !== '' ? open.filter(isAsked) : sampleOf(open, Number(values.sample));
const chosen = picked.slice(Number(values.skip));
console.error(`mutants: ${chosen.length} of ${found.length}, ${known.length} of them equivalent, seed ${values.seed}`);
const servers = await startServers(serversFor(chosen.map(({ file }) => file)));
announce(servers);
try {
  const counts = await judgeAll(chosen);
  const noticed = counts.get('killed')! + counts.get('timed out')!;
  const rate = ((100 * noticed) / chosen.length).toFixed(1);
  const parts = VERDICTS.map((verdict) => `${counts.get(verdict)} ${verdict}`).join(', ');
  console.log(`mutants: ${chosen.length} tried, ${parts}: ${rate} % noticed`);
} finally {
  await stopServers(servers);
}
