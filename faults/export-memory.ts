/**
 * Exports stores of growing size as Parquet and as JSON lines, and compares their peak memory. Fails if the export of
 * the largest store holds 16 MB more than that of the smallest. `--events 400000` is the size of the largest.
 */
import { parseArgs } from 'node:util';
import { JSON_LINES } from '@tidemark/runtime';
import { PARQUET } from '../packages/cli/src/parquet.ts';
import { MB, measureExport } from './export-growth.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '400000' } } });
const MAX_GROWTH = 16 * MB;
const ROWS_PER_FILE = 20_000;
/** The smallest store fills one file of each table, and an export may hold one file of each in memory. */
const SHARES = [16, 4, 1];

let problems = 0;
for (const format of [PARQUET, JSON_LINES]) {
  const held: number[] = [];
  for (const share of SHARES) {
    const { events, bytes, payloads } = await measureExport(Number(values.events) / share, format, ROWS_PER_FILE);
    held.push(bytes);
    const size = `${events} events with ${Math.round(payloads / MB)} MB`;
    console.log(`${format.extension}: ${size}: at most ${(bytes / MB).toFixed(1)} MB held`);
  }
  if (held.at(-1)! - held[0]! > MAX_GROWTH) problems++;
}
console.log(`export-memory: ${problems} problems`);
process.exitCode = problems === 0 ? 0 : 1;
