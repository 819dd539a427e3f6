/**
 * `npm run mutants`: changes one operator or condition at a time in `core`, `sql` and the Lua scripts, runs the tests
 * on a copy, and lists the changes that no test noticed. `--sample 200` (the default) tries that many, picked by
 * `--seed`; `--skip 100` leaves out the first of them, which an earlier run has judged; `--all` tries every one, which
 * takes hours; a path narrows it: `npm run mutants -- packages/core/src/jobs`. `--only TEXT` tries those whose
 * description contains it. A mutant that cannot change behaviour is listed in `scripts/mutants/equivalent.json` with
 * its reason and is not counted.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../faults/random.ts';
import { luaMutants } from './mutants/lua.ts';
import { describeMutant, type Mutant, mutated } from './mutants/mutant.ts';
import { Sandbox } from './mutants/sandbox.ts';
import { judge, measure, type Verdict } from './mutants/stages.ts';
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
    workers: { type: 'string', default: '2' },
  },
});

const SOURCES = ['packages/core/src/**/*.ts', 'packages/sql/src/**/*.ts', 'packages/redis/scripts/*.lua'];
/** Types and lists of names contain nothing to change. */
const LEFT_OUT = /\.test\.ts$|\/index\.ts$|\/contracts\//;

/** Descriptions of mutants that cannot change behaviour, each with the reason. */
const EQUIVALENT: Record<string, string> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'mutants/equivalent.json'), 'utf8'),
);

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

/** Throws if tests fail without any change, because they would kill every mutant. */
async function expectSound(sandbox: Sandbox, mutants: readonly Mutant[]): Promise<void> {
  const packages = Map.groupBy(mutants, ({ file }) => file.split('/')[1]);
  for (const [name, [first]] of packages) {
    console.error(`mutants: trying the tests of ${name} on unchanged sources`);
    const verdict = await measure(sandbox.root, first!.file);
    if (verdict !== 'survived') throw new Error(`The tests of ${name} fail without any change (${verdict}).`);
  }
}

async function judgeAll(mutants: readonly Mutant[]): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  const queue = mutants.values();
  const work = async (sandbox: Sandbox) => {
    for (const mutant of queue) {
      const source = textOf.get(mutant.file)!;
      const description = describeMutant(source, mutant);
      sandbox.write(mutant.file, mutated(source, mutant));
      const verdict = await judge(sandbox.root, mutant.file);
      sandbox.write(mutant.file, source);
      verdicts.set(description, verdict);
      if (verdict === 'survived') console.log(`survived  ${description}`);
      if (verdicts.size % 10 === 0) console.error(`mutants: ${verdicts.size} of ${mutants.length}`);
    }
  };
  const sandboxes = Array.from({ length: Number(values.workers) }, () => new Sandbox());
  try {
    await expectSound(sandboxes[0]!, mutants);
    await Promise.all(sandboxes.map(work));
  } finally {
    for (const sandbox of sandboxes) sandbox.remove();
  }
  return verdicts;
}

const found = allMutants();
const known = found.filter((mutant) => isEquivalent(describeMutant(textOf.get(mutant.file)!, mutant)));
const open = found.filter((mutant) => !known.includes(mutant));
const isAsked = (mutant: Mutant) => describeMutant(textOf.get(mutant.file)!, mutant).includes(values.only);
const picked = values.all || values.only !== '' ? open.filter(isAsked) : sampleOf(open, Number(values.sample));
const chosen = picked.slice(Number(values.skip));
console.error(`mutants: ${chosen.length} of ${found.length}, ${known.length} of them equivalent, seed ${values.seed}`);
const servers = await startServers(chosen.some(({ file }) => file.endsWith('.lua')) ? ['redis'] : []);
announce(servers);
try {
  const verdicts = [...(await judgeAll(chosen)).values()];
  const count = (verdict: Verdict) => verdicts.filter((it) => it === verdict).length;
  const noticed = count('killed') + count('timed out');
  const rate = ((100 * noticed) / verdicts.length).toFixed(1);
  console.log(
    `mutants: ${verdicts.length} tried, ${count('killed')} killed, ${count('timed out')} timed out, ` +
      `${count('survived')} survived: ${rate} % noticed`,
  );
} finally {
  await stopServers(servers);
}
