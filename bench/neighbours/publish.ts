/**
 * `npm run bench -- neighbours --publish`: draws `docs/bench.svg` and writes the table of the README, both from the raw
 * results of earlier runs in `bench/results/`. Publishes only what these runs measured.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Bar, drawBars } from '../bars.ts';
import { LACKS, SCENARIOS } from './scenarios.ts';

/** The stored result of one scenario compared with one library. */
export interface Result {
  scenario: string;
  contender: string;
  /** Our rate divided by theirs: the median of the rounds. */
  ratio: number;
  /** The lowest and highest ratio of a round. */
  spread: [number, number];
  ours: { perSecond: number; cpuUs: number };
  theirs: { perSecond: number; cpuUs: number };
}

export interface Report {
  at: string;
  server: string;
  machine: { node: string; cpu: string | undefined; cores: number; load: number[] };
  figures: Result[];
}

const PICTURE = new URL('../../docs/bench.svg', import.meta.url);
const README = new URL('../../README.md', import.meta.url);
const [BEGIN, END] = ['<!-- bench: begin -->', '<!-- bench: end -->'];

function readReports(): Report[] {
  return ['postgres', 'redis'].flatMap((name) => {
    const file = new URL(`../results/neighbours-${name}.json`, import.meta.url);
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as Report] : [];
  });
}

/** The name of a server without its version. */
const nameOf = (server: string) => server.split(' ')[0]!;

const titleOf = (id: string) => SCENARIOS.find((it) => it.id === id)?.title ?? id;

function factsOf({ at, machine }: Report): string {
  const load = machine.load[0]!.toFixed(1);
  return `${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu ?? 'unknown'}), Node ${machine.node}, load ${load}`;
}

function tableOf(reports: readonly Report[]): string {
  const rows = reports.flatMap(({ server, figures }) =>
    figures.map(({ scenario, contender, ratio, spread, ours, theirs }) => [
      `${titleOf(scenario)}, ${nameOf(server)}`,
      contender,
      `${ratio.toFixed(2)} (${spread.map((it) => it.toFixed(2)).join('–')})`,
      `${ours.cpuUs.toFixed(0)} / ${theirs.cpuUs.toFixed(0)}`,
      LACKS[contender] ?? '',
    ]),
  );
  const head = ['scenario', 'library', 'Tidemark ÷ library', 'CPU in µs', 'what the library does not provide'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function barsOf({ server, figures }: Report): Bar[] {
  return figures.map(({ scenario, contender, ratio }) => ({
    label: `${titleOf(scenario)}: ${contender}, ${nameOf(server)}`,
    ratio,
  }));
}

export function publish(): void {
  const reports = readReports();
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
median and range of the rounds, and the CPU of the process per operation (Tidemark / library). Run it with
\`npm run bench -- neighbours\`.

${facts.map((fact) => `- ${fact}`).join('\n')}

<details>
<summary>All results, and what each library does not provide</summary>

${tableOf(reports)}

</details>

`;
  writeFileSync(README, readme.slice(0, from) + text + readme.slice(to));
  console.log('wrote docs/bench.svg and the table of README.md');
}
