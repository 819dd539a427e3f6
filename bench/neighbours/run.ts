/**
 * `npm run bench -- neighbours [postgres|redis|sqlite]`: compares Tidemark with other libraries on the same engine, in
 * alternating rounds in one process. Prints the ratio of rates (above 1: Tidemark is faster) and the CPU of the process
 * per operation. `--quick` takes a few minutes an engine, `--rounds 5` sets the rounds, `--only append,set` the
 * scenarios and `--beside keyv` the neighbours. A narrowed run replaces only its own figures among the
 * stored results. `--publish` then draws `docs/bench.svg` and writes the tables from the stored results; with
 * `--publish` alone nothing is measured. Install the neighbours first with `npm ci --prefix bench/neighbours`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { open } from 'tidemark';
import { median } from '../measure.ts';
import { ENGINE_NAMES, type EngineName } from './engine-names.ts';
import { type Engine, NEIGHBOURS, startEngine } from './engines.ts';
import type { Contender, Contenders, EventsContender } from './kinds.ts';
import { publish, type Report, type Result, resultsOf } from './publish.ts';
import { type Cost, ROUNDS } from './rounds.ts';
import { type Kind, SCENARIOS, type Scenario } from './scenarios.ts';
import { TIDEMARK } from './tidemark.ts';

/** By how much `--quick` divides the operations of a round. */
const QUICK = 4;

/** Measures a scenario for Tidemark and a neighbour, in alternating rounds after a warm-up round. */
async function compare<It extends Kind>(
  scenario: Scenario & { kind: It },
  ours: Contenders[It],
  other: Contenders[It],
  rounds: number,
): Promise<Result> {
  const round = ROUNDS[scenario.kind] as (
    scenario: Scenario,
    contender: Contenders[It],
    maxRuns: number,
  ) => Promise<Cost>;
  const maxRuns = (other as EventsContender).maxRuns ?? Number.POSITIVE_INFINITY;
  const costs: [Cost, Cost][] = [];
  for (let at = 0; at <= rounds; at++)
    costs.push([await round(scenario, ours, maxRuns), await round(scenario, other, maxRuns)]);
  const measured = costs.slice(1);
  const side = (which: 0 | 1): Cost => ({
    perSecond: median(measured.map((pair) => pair[which].perSecond)),
    cpuUs: median(measured.map((pair) => pair[which].cpuUs)),
  });
  const ratios = measured.map(([mine, theirs]) => mine.perSecond / theirs.perSecond);
  const result: Result = {
    scenario: scenario.id,
    contender: other.name,
    at: new Date().toISOString(),
    load: loadavg()[0]!,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ours: side(0),
    theirs: side(1),
  };
  console.log(
    `${scenario.id.padEnd(8)} ${result.ratio.toFixed(2).padStart(7)} × ${other.name.padEnd(16)}` +
      ` ${result.ours.cpuUs.toFixed(0).padStart(6)} µs of CPU against ${result.theirs.cpuUs.toFixed(0)}`,
  );
  return result;
}

interface Choice {
  rounds: number;
  isQuick: boolean;
  only: readonly string[] | null;
  beside: readonly string[] | null;
}

/** Returns the scenarios of a kind that were chosen and that a neighbour can run. */
function scenariosFor(kind: Kind, other: Contender, { only, isQuick }: Choice): Scenario[] {
  return SCENARIOS.filter(
    (it) => it.kind === kind && (!only || only.includes(it.id)) && (!it.needs || it.needs in other),
  ).map((it) => (isQuick ? { ...it, count: Math.ceil(it.count / QUICK) } : it));
}

async function measureKind(kind: Kind, engine: Engine, name: EngineName, choice: Choice): Promise<Result[]> {
  const openers = NEIGHBOURS[name][kind] ?? [];
  if (choice.only && !SCENARIOS.some((it) => it.kind === kind && choice.only!.includes(it.id))) return [];
  const figures: Result[] = [];
  const ours = (await TIDEMARK[kind](await open(engine.urlFor(0)))) as Contenders[Kind];
  try {
    for (const [index, openOther] of openers.entries()) {
      // One at a time: some of them poll in the background.
      const other = await openOther(engine.urlFor(index + 1));
      try {
        if (choice.beside && !choice.beside.includes(other.name)) continue;
        for (const scenario of scenariosFor(kind, other, choice))
          figures.push(await compare(scenario as never, ours as never, other as never, choice.rounds));
      } finally {
        await other.close();
      }
    }
  } finally {
    await ours.close();
  }
  return figures;
}

async function measureEngine(name: EngineName, choice: Choice): Promise<Report> {
  const engine = await startEngine(name);
  console.log(`\n${engine.title}; load ${loadavg()[0]!.toFixed(0)}`);
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  const figures: Result[] = [];
  try {
    for (const kind of Object.keys(NEIGHBOURS[name]) as Kind[])
      figures.push(...(await measureKind(kind, engine, name, choice)));
  } finally {
    // Some neighbours close their connections a moment later. If the server were already gone, their errors would end
    // the process.
    await sleep(1_000);
    await engine.stop();
  }
  return { server: engine.title, machine, figures };
}

export async function compareWithNeighbours(args: string[]): Promise<void> {
  const options = {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    beside: { type: 'string' },
    publish: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  if (values.publish && args.length === 1) return publish();
  const unknown = [
    ...positionals.filter((it) => !ENGINE_NAMES.includes(it as EngineName)),
    ...(values.only?.split(',') ?? []).filter((id) => !SCENARIOS.some((it) => it.id === id)),
  ];
  if (unknown.length > 0) throw new Error(`There is no engine or scenario ${unknown.join(', ')}`);
  const named = ENGINE_NAMES.filter((it) => positionals.length === 0 || positionals.includes(it));
  const choice: Choice = {
    rounds: Number(values.rounds ?? (values.quick ? 3 : 7)),
    isQuick: values.quick,
    only: values.only?.split(',') ?? null,
    beside: values.beside?.split(',') ?? null,
  };
  for (const name of named) {
    const started = performance.now();
    const report = await measureEngine(name, choice);
    store(name, report, choice.only !== null || choice.beside !== null);
    console.log(`${name} took ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  }
  if (values.publish) publish();
}

/** Stores a report. The figures of a narrowed run replace their like among the stored ones. */
function store(name: EngineName, report: Report, isNarrowed: boolean): void {
  const file = resultsOf(name);
  mkdirSync(new URL('./', file), { recursive: true });
  const stored = isNarrowed && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report).figures : [];
  const isMeasured = (it: Result) =>
    report.figures.some(({ scenario, contender }) => scenario === it.scenario && contender === it.contender);
  const figures = [...stored.filter((it) => !isMeasured(it)), ...report.figures];
  const orderOf = ({ scenario }: Result) => SCENARIOS.findIndex(({ id }) => id === scenario);
  figures.sort((a, b) => orderOf(a) - orderOf(b));
  writeFileSync(file, `${JSON.stringify({ ...report, figures }, null, 2)}\n`);
}
