/**
 * `npm run bench -- neighbours --publish`: draws `docs/bench.svg` and writes the table of the README, both from the raw
 * results of earlier runs in `bench/results/`. Publishes only what these runs measured.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Bar, drawBars } from '../bars.ts';
import { ENGINE_NAMES, type EngineName } from './engine-names.ts';
import { isBare, lacksOf, SCENARIOS } from './scenarios.ts';

/** The stored result of one scenario compared with one library. */
export interface Result {
  scenario: string;
  contender: string;
  /** When it was measured: RFC 3339. */
  at: string;
  /** The load of the machine at that time, over one minute. */
  load: number;
  /** Our rate divided by theirs: the median of the rounds. */
  ratio: number;
  /** The lowest and highest ratio of a round. */
  spread: [number, number];
  ours: { perSecond: number; cpuUs: number };
  theirs: { perSecond: number; cpuUs: number };
}

export interface Report {
  server: string;
  machine: { node: string; cpu: string | undefined; cores: number };
  figures: Result[];
}

const PICTURE = new URL('../../docs/bench.svg', import.meta.url);
const README = new URL('../../README.md', import.meta.url);
const [BEGIN, END] = ['<!-- bench: begin -->', '<!-- bench: end -->'];

/** Returns the file with the raw results of an engine. */
export const resultsOf = (engine: EngineName): URL => new URL(`../results/neighbours-${engine}.json`, import.meta.url);

function readReports(): Report[] {
  return ENGINE_NAMES.flatMap((name) => {
    const file = resultsOf(name);
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as Report] : [];
  });
}

/** The name of a server without its version. */
const nameOf = (server: string) => server.split(' ')[0]!;

const titleOf = (id: string) => SCENARIOS.find((it) => it.id === id)?.title ?? id;

/** Joins the first and the last of some texts in order, or returns the one that all are. */
const rangeOf = (texts: readonly string[]) => [...new Set([texts[0], texts.at(-1)])].join(' to ');

function factsOf({ machine, figures }: Report): string {
  const days = figures.map((it) => it.at.slice(0, 10)).sort();
  const loads = figures.map((it) => it.load).sort((a, b) => a - b);
  const load = rangeOf(loads.map((it) => it.toFixed(1)));
  return `${rangeOf(days)}, ${machine.cores} cores (${machine.cpu ?? 'unknown'}), Node ${machine.node}, load ${load}`;
}

function tableOf(reports: readonly Report[]): string {
  const rows = reports.flatMap(({ server, figures }) =>
    figures.map(({ scenario, contender, ratio, spread, ours, theirs }) => [
      `${titleOf(scenario)}, ${nameOf(server)}`,
      contender,
      `${ratio.toFixed(2)} (${spread.map((it) => it.toFixed(2)).join('–')})`,
      `${ours.cpuUs.toFixed(0)} / ${theirs.cpuUs.toFixed(0)}`,
      lacksOf(scenario, contender),
    ]),
  );
  const head = ['scenario', 'library', 'Tidemark ÷ library', 'CPU in µs', 'what the library does not provide'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function barsOf({ server, figures }: Report): Bar[] {
  const neighbours = figures.filter(({ contender }) => !isBare(contender));
  return neighbours.map(({ scenario, contender, ratio }) => ({
    label: `${titleOf(scenario)}: ${contender}, ${nameOf(server)}`,
    ratio,
  }));
}

export function publish(): void {
  const reports = readReports().filter(({ figures }) => figures.length > 0);
  if (reports.length === 0) throw new Error('There are no results; run `npm run bench -- neighbours` first');
  const facts = reports.map((report) => `${report.server}: ${factsOf(report)}`);
  const bars = reports.flatMap(barsOf);
  writeFileSync(
    PICTURE,
    drawBars({ title: "Tidemark's rate divided by that of the library", facts, bars, isLogarithmic: true }),
  );
  const readme = readFileSync(README, 'utf8');
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`The README has no ${BEGIN} and ${END}`);
  const text = `${BEGIN}

![Rates of Tidemark compared with similar libraries](docs/bench.svg)

Above 1, Tidemark is faster. Both sides run in one process and on one server, in alternating rounds. The table shows the
median and range of the rounds, and the CPU of the process per operation (Tidemark / library). The bare
drivers in the table are the ceiling. Run it with \`npm run bench -- neighbours\`.

${facts.map((fact) => `- ${fact}`).join('\n')}

<details>
<summary>All results, and what each library does not provide</summary>

${tableOf(reports)}

</details>

`;
  writeFileSync(README, readme.slice(0, from) + text + readme.slice(to));
  console.log('wrote docs/bench.svg and the table of README.md');
}
