/** Measures two ways of doing the same work, in alternating rounds, and compares their medians. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** One figure of a benchmark: our store against the bare driver, and the target. */
export interface Figure {
  scenario: string;
  unit: string;
  ours: number;
  raw: number;
  /** For rates, ours / raw. For growth, our growth divided by that of the bare driver. */
  ratio: number;
  /** The limit of the ratio. */
  wanted: string;
  kept: boolean;
}

/**
 * Prepares a round of work before the clock starts, and returns the work. The work resolves with its number of units.
 */
export type Round = () => () => Promise<number>;

const WARM_MS = 3_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Units per second of each side. The ratio is taken between adjacent rounds, which a noisy machine affects equally. */
export interface Rates {
  ours: number;
  raw: number;
  ratio: number;
}

/** Medians over interleaved rounds. */
export async function compareRates(ours: Round, raw: Round, rounds: number): Promise<Rates> {
  const rates = { ours: [] as number[], raw: [] as number[] };
  // The first rounds include compilation and do not count.
  await warmUp(raw);
  await warmUp(ours);
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['raw', 'ours'] as const) : (['ours', 'raw'] as const);
    for (const who of order) rates[who].push(await rateOf(who === 'ours' ? ours : raw));
  }
  const ratio = median(rates.ours.map((rate, round) => rate / rates.raw[round]!));
  return { ours: median(rates.ours), raw: median(rates.raw), ratio };
}

/** Runs rounds for as long as V8 needs to finish optimising. */
async function warmUp(round: Round): Promise<void> {
  const until = performance.now() + WARM_MS;
  do await rateOf(round);
  while (performance.now() < until);
}

export async function rateOf(round: Round): Promise<number> {
  const work = round();
  collectGarbage();
  const start = performance.now();
  const units = await work();
  return (units / (performance.now() - start)) * 1_000;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >>> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns a figure for a rate that must be at least a share of the bare driver's. */
export function atLeast(
  share: number,
  scenario: string,
  unit: string,
  { ours, raw, ratio = ours / raw }: Omit<Rates, 'ratio'> & Partial<Rates>,
): Figure {
  return { scenario, unit, ours, raw, ratio, wanted: `≥ ${share}`, kept: ratio >= share };
}

/** Returns a figure for a cost, or growth, that must be at most a multiple of the bare driver's. */
export function atMost(multiple: number, scenario: string, unit: string, costs: { ours: number; raw: number }): Figure {
  const ratio = costs.ours / costs.raw;
  return { scenario, unit, ...costs, ratio, wanted: `≤ ${multiple}`, kept: ratio <= multiple };
}

/** Formats the figures as a table. */
export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map((it) => [
    it.scenario,
    it.ours.toPrecision(4),
    it.raw.toPrecision(4),
    it.unit,
    it.ratio.toFixed(2),
    it.wanted,
    it.kept ? 'kept' : 'MISSED',
  ]);
  const table = [['scenario', 'tidemark', 'bare driver', 'unit', 'ratio', 'wanted', ''], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
