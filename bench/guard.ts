/**
 * `npm run bench -- guard`: measures a short set of scenarios and names the scenarios that became more than 5 % slower
 * than the accepted results in `bench/accepted.json`. It compares ratios to work of the same kind without Tidemark,
 * measured in alternating rounds, and CPU per operation divided by the CPU of that work, so that a faster or slower
 * machine does not count. `--accept` replaces the accepted results. `--only redis,sqlite` limits the engines,
 * `--rounds 7` the rounds.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SOURCE_FLAGS } from '../scripts/processes.ts';
import { type Guarded, SCENARIOS } from './guard-scenarios.ts';
import { median } from './measure.ts';

const ACCEPTED = new URL('./accepted.json', import.meta.url);
const TOLERANCE = 0.05;
/** A scenario that seems slower is measured again before it is reported. */
const MAX_TRIES = 3;

/** The figures of a scenario. */
interface GuardFigure {
  /** Our rate divided by the rate of the work without Tidemark. */
  rate: number;
  /** Our CPU per operation divided by the CPU of the work without Tidemark. */
  cpu: number;
  /** Our CPU per operation in microseconds, for reading; it depends on the machine. */
  cpuUs: number;
}

interface Accepted {
  at: string;
  machine: { node: string; cpu: string | undefined; cores: number; load: number };
  figures: Record<string, GuardFigure>;
}

/** A difference beyond the tolerance. */
interface Slower {
  scenario: string;
  measure: 'rate' | 'cpu';
  accepted: number;
  now: number;
}

/** Returns the measures in which a scenario became slower. */
function slowerThan(scenario: string, accepted: GuardFigure, now: GuardFigure): Slower[] {
  const slower: Slower[] = [];
  if (now.rate < accepted.rate * (1 - TOLERANCE))
    slower.push({ scenario, measure: 'rate', accepted: accepted.rate, now: now.rate });
  if (now.cpu > accepted.cpu * (1 + TOLERANCE))
    slower.push({ scenario, measure: 'cpu', accepted: accepted.cpu, now: now.cpu });
  return slower;
}

interface Cost {
  perSecond: number;
  cpuUs: number;
}

async function costOf(work: () => Promise<number>): Promise<Cost> {
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  const count = await work();
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuUs: (user + system) / count };
}

/** Measures a scenario. Ratios of adjacent rounds, because a noisy machine affects both equally. */
async function measure({ ours, bare }: Guarded, rounds: number): Promise<GuardFigure> {
  const pairs: [Cost, Cost][] = [];
  for (let round = -1; round < rounds; round++) {
    const first = round % 2 === 0 ? ours : bare;
    const one = await costOf(await first());
    const other = await costOf(await (first === ours ? bare : ours)());
    // The first round warms up both.
    if (round >= 0) pairs.push(first === ours ? [one, other] : [other, one]);
  }
  return {
    rate: median(pairs.map(([mine, theirs]) => mine.perSecond / theirs.perSecond)),
    cpu: median(pairs.map(([mine, theirs]) => mine.cpuUs / theirs.cpuUs)),
    cpuUs: median(pairs.map(([mine]) => mine.cpuUs)),
  };
}

/** Returns the better of two measurements: noise only makes a scenario slower. */
function bestOf(a: GuardFigure, b: GuardFigure): GuardFigure {
  const { cpu, cpuUs } = a.cpu <= b.cpu ? a : b;
  return { rate: Math.max(a.rate, b.rate), cpu, cpuUs };
}

function readAccepted(): Accepted | null {
  return existsSync(ACCEPTED) ? (JSON.parse(readFileSync(ACCEPTED, 'utf8')) as Accepted) : null;
}

const rounded = (value: number) => Number(value.toPrecision(3));

function printRow(name: string, now: GuardFigure, before: GuardFigure | undefined): void {
  const than = before ? ` (accepted ${before.rate.toFixed(2)}, ${before.cpu.toFixed(2)})` : '';
  console.log(
    `${name.padEnd(28)} rate ${now.rate.toFixed(2)}, CPU ${now.cpu.toFixed(2)} × bare, ${now.cpuUs.toFixed(1)} µs${than}`,
  );
}

/** Measures every scenario of an engine. Measures scenarios that seem slower again. */
async function measureEngine(
  engine: string,
  rounds: number,
  accepted: Accepted | null,
): Promise<Record<string, GuardFigure>> {
  const { scenarios, close } = await SCENARIOS[engine]!();
  const figures: Record<string, GuardFigure> = {};
  try {
    for (const [scenario, guarded] of Object.entries(scenarios)) {
      const name = `${engine}: ${scenario}`;
      const before = accepted?.figures[name];
      let now = await measure(guarded, rounds);
      for (let tries = 1; before && tries < MAX_TRIES && slowerThan(name, before, now).length > 0; tries++)
        now = bestOf(now, await measure(guarded, rounds));
      printRow(name, now, before);
      figures[name] = now;
    }
  } finally {
    await close();
  }
  return figures;
}

/**
 * Measures an engine in a separate process. In a heap that another engine has filled, garbage collection takes longer,
 * and the figures would depend on `--only`.
 */
async function inOwnProcess(engine: string, args: readonly string[]): Promise<Record<string, GuardFigure>> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-guard-'));
  const file = join(folder, 'figures.json');
  try {
    const script = [join(import.meta.dirname, 'run.ts'), 'guard', '--only', engine, '--raw', file, ...args];
    const child = spawn(process.execPath, [...SOURCE_FLAGS, ...script], { stdio: ['ignore', 'inherit', 'inherit'] });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`The measurement of ${engine} failed; see its words above`);
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, GuardFigure>;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the guard and returns whether nothing became slower. */
export async function guard(args: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args,
    options: {
      accept: { type: 'boolean', default: false },
      only: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
      rounds: { type: 'string', default: '7' },
      /** Writes the figures of one engine to this file and judges nothing. */
      raw: { type: 'string' },
    },
  });
  const engines = values.only.split(',');
  const unknown = engines.find((engine) => !(engine in SCENARIOS));
  if (unknown !== undefined)
    throw new Error(`The guard does not measure ${unknown}; choose from ${Object.keys(SCENARIOS).join(', ')}`);
  const accepted = readAccepted();
  const compared = values.accept ? null : accepted;
  if (values.raw !== undefined) {
    const measured = await measureEngine(engines[0]!, Number(values.rounds), compared);
    writeFileSync(values.raw, JSON.stringify(measured));
    return true;
  }
  const figures: Record<string, GuardFigure> = {};
  for (const engine of engines)
    Object.assign(
      figures,
      await inOwnProcess(engine, ['--rounds', values.rounds, ...(values.accept ? ['--accept'] : [])]),
    );
  if (values.accept) {
    const at = new Date().toISOString();
    const machine = {
      node: process.version,
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      load: rounded(loadavg()[0]!),
    };
    const kept = Object.fromEntries(
      Object.entries({ ...accepted?.figures, ...figures }).map(([name, { rate, cpu, cpuUs }]) => [
        name,
        { rate: rounded(rate), cpu: rounded(cpu), cpuUs: rounded(cpuUs) },
      ]),
    );
    writeFileSync(ACCEPTED, `${JSON.stringify({ at, machine, figures: kept } satisfies Accepted, null, 2)}\n`);
    console.log(`\naccepted ${Object.keys(figures).length} scenarios at a load of ${machine.load}`);
    return true;
  }
  if (!accepted) {
    console.log('\nThere are no accepted results; run `npm run bench -- guard --accept` on an idle machine');
    return true;
  }
  const slower = Object.entries(figures).flatMap(([name, now]) => {
    const before = accepted.figures[name];
    return before ? slowerThan(name, before, now) : [];
  });
  for (const { scenario, measure: what, accepted: before, now } of slower) {
    const percent = Math.round(Math.abs(now / before - 1) * 100);
    console.log(`SLOWER  ${scenario}: ${what} ${before.toFixed(2)} → ${now.toFixed(2)} (${percent} %)`);
  }
  if (slower.length === 0) console.log('\nnothing is more than 5 % slower than the accepted results');
  return slower.length === 0;
}
