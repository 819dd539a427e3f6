/**
 * `npm run bench -- picture`: draws `docs/bench-drivers.svg` from the figures of earlier runs in `bench/results/`: how
 * fast each scenario is, compared with the bare driver that does the same work. Draws only what these runs measured.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { drawBars } from './bars.ts';
import type { Figure } from './measure.ts';

const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis', nats: 'NATS', server: 'HTTP' };
const TARGET = new URL('../docs/bench-drivers.svg', import.meta.url);

interface Results {
  engine: keyof typeof ENGINES;
  at: string;
  machine: { node: string; cpu?: string; cores: number };
  figures: Figure[];
}

/** Returns the stored results of the engines of the picture, in its order. */
function readResults(): Results[] {
  return Object.keys(ENGINES).flatMap((engine) => {
    const file = new URL(`./results/${engine}.json`, import.meta.url);
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as Results] : [];
  });
}

export function drawPicture(): void {
  const results = readResults();
  if (results.length === 0) throw new Error('There are no results; run `npm run bench -- --quick` first');
  // Costs and growth, where less is better, do not share an axis with rates.
  const bars = results.flatMap(({ engine, figures }) =>
    figures
      .filter(({ wanted }) => wanted.startsWith('≥'))
      .map(({ scenario, ratio }) => ({ label: `${ENGINES[engine]}: ${scenario}`, ratio })),
  );
  const { at, machine } = results[0]!;
  const facts = [`${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu ?? 'unknown'}), Node ${machine.node}`];
  const title = 'Rate divided by that of the bare driver on the same work, unless the label names another';
  writeFileSync(TARGET, drawBars({ title, facts, bars }));
  console.log('wrote docs/bench-drivers.svg');
}
