/**
 * `npm run bench -- picture`: draws `docs/bench.svg` from the figures of earlier runs in `bench/results/`: how fast each
 * scenario is, compared with the bare driver that does the same work. Draws only what these runs measured.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Figure } from './measure.ts';

const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis', nats: 'NATS', server: 'HTTP' };
const TARGET = new URL('../docs/bench.svg', import.meta.url);

const WIDTH = 820;
const LABEL_WIDTH = 400;
const ROW = 22;
const BAR = 14;
const TOP = 52;
/** The ratio at the right edge. */
const HIGHEST = 1.25;

interface Results {
  engine: string;
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

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const xOf = (ratio: number) => LABEL_WIDTH + (Math.min(ratio, HIGHEST) / HIGHEST) * (WIDTH - LABEL_WIDTH - 60);

function rowOf(engine: string, { scenario, ratio }: Figure, index: number): string {
  const y = TOP + index * ROW;
  const text = `${ENGINES[engine as keyof typeof ENGINES]}: ${scenario}`;
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${y + 11}" text-anchor="end">${escapeXml(text)}</text>`,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${(xOf(ratio) - LABEL_WIDTH).toFixed(1)}" height="${BAR}" rx="2"/>`,
    `<text x="${(xOf(ratio) + 6).toFixed(1)}" y="${y + 11}">${ratio.toFixed(2)}</text>`,
  ].join('\n');
}

function draw(results: readonly Results[]): string {
  // Costs and growth, where less is better, do not share an axis with rates.
  const rows = results.flatMap(({ engine, figures }) =>
    figures.filter(({ wanted }) => wanted.startsWith('≥')).map((figure) => ({ engine, figure })),
  );
  const height = TOP + rows.length * ROW + 34;
  const { at, machine } = results[0]!;
  const facts = `${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu ?? 'unknown'}), Node ${machine.node}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 14px; }
  rect { fill: #2f6feb; }
  .background { fill: #ffffff; }
  line { stroke: #8c959f; stroke-dasharray: 3 3; }
</style>
<rect class="background" width="${WIDTH}" height="${height}"/>
<text class="title" x="12" y="22">Rate divided by that of the bare driver on the same work, unless the label names another</text>
<text x="12" y="40">${escapeXml(facts)}</text>
<line x1="${xOf(1)}" x2="${xOf(1)}" y1="${TOP - 6}" y2="${height - 28}"/>
${rows.map(({ engine, figure }, index) => rowOf(engine, figure, index)).join('\n')}
<text x="${xOf(1)}" y="${height - 12}" text-anchor="middle">1 = the same rate</text>
</svg>
`;
}

export function drawPicture(): void {
  const results = readResults();
  if (results.length === 0) throw new Error('There are no results; run `npm run bench -- --quick` first');
  writeFileSync(TARGET, draw(results));
  console.log('wrote docs/bench.svg');
}
