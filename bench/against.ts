/**
 * `npm run bench -- against REV`: CPU per operation of this tree against another revision, in alternating rounds of the
 * same work. Wall time depends on the disk and on other processes. The CPU time of the process shows whether a change
 * made it slower. `--rounds 10 --only append,post --engines memory,sqlite,postgres,redis,nats`. `--tree DIR` uses an
 * existing, installed checkout of the other revision.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { ROOT, SOURCE_FLAGS } from '../scripts/processes.ts';
import { type ServerName, startOwnServer } from '../scripts/servers/index.ts';
import { median, type Round } from './measure.ts';
import { linesTo, postsTo } from './server.ts';

const CHILD = 'against-child.ts';
/**
 * Rounds before measuring. The same number for both, because the size of a store affects the cost of garbage
 * collection.
 */
const WARM_ROUNDS = 10;
const MOST = 1.03;
/**
 * The helper threads of V8's collector wait for each other, which costs CPU when other processes take their cores: two
 * sides that do the same work differed by 15 %.
 */
const STEADY = '--single-threaded-gc';

/** Operations per round of each workload. */
const CALLS = {
  append: 10_000,
  set: 10_000,
  get: 20_000,
  put: 10_000,
  enqueue: 2_000,
  work: 2_000,
  work8: 1_000,
  work1: 300,
};
const REQUESTS: Record<string, { units: number; round: (url: string, units: number) => Round }> = {
  post: { units: 10_000, round: postsTo },
  bulk: { units: 20_000, round: linesTo },
};

/** A process of one revision that runs rounds on request. */
class Side {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  url = '';

  private constructor(tree: string, workload: string, storeUrl: string) {
    const args = [STEADY, ...SOURCE_FLAGS, join(tree, 'bench', CHILD), workload, storeUrl];
    this.#child = spawn(process.execPath, args, { cwd: tree, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  static async start(tree: string, workload: string, storeUrl: string): Promise<Side> {
    const side = new Side(tree, workload, storeUrl);
    side.url = (await side.#answer<{ url: string }>()).url;
    return side;
  }

  /** Returns the microseconds of CPU that `units` operations took. For 0, returns the total of the process so far. */
  async cpuOf(units: number): Promise<number> {
    this.#child.stdin!.write(`${units}\n`);
    return (await this.#answer<{ cpuUs: number }>()).cpuUs;
  }

  stop(): void {
    this.#child.kill();
  }

  async #answer<T>(): Promise<T> {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error('A side of the comparison ended; see its words above');
    return JSON.parse(value) as T;
  }
}

/** Measures the microseconds of CPU per operation in one round of a side. */
type Cost = (side: Side) => Promise<number>;

function costOfCalls(units: number): Cost {
  return async (side) => (await side.cpuOf(units)) / units;
}

function costOfRequests({ units, round }: (typeof REQUESTS)[string]): Cost {
  return async (side) => {
    const work = round(side.url, units)();
    const before = await side.cpuOf(0);
    await work();
    return ((await side.cpuOf(0)) - before) / units;
  };
}

/** Returns the medians of this tree and the other, and of the ratios of adjacent rounds. */
async function compare(
  trees: readonly [string, string],
  urls: readonly [string, string],
  what: string,
  rounds: number,
) {
  const request = REQUESTS[what];
  const cost = request ? costOfRequests(request) : costOfCalls(CALLS[what as keyof typeof CALLS]);
  const child = request ? 'serve' : what;
  const sides = [await Side.start(trees[0], child, urls[0]), await Side.start(trees[1], child, urls[1])] as const;
  try {
    for (let round = 0; round < WARM_ROUNDS; round++) for (const side of sides) await cost(side);
    const costs: [number, number][] = [];
    for (let round = 0; round < rounds; round++) {
      const pair: [number, number] = [0, 0];
      for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) pair[at] = await cost(sides[at]);
      costs.push(pair);
    }
    return {
      ours: median(costs.map(([ours]) => ours)),
      theirs: median(costs.map(([, theirs]) => theirs)),
      ratio: median(costs.map(([ours, theirs]) => ours / theirs)),
    };
  } finally {
    for (const side of sides) side.stop();
  }
}

/** Returns two empty databases of an engine and a function that removes them. */
async function newDatabases(
  engine: string,
  scratch: string,
): Promise<{ urls: [string, string]; end: () => Promise<void> }> {
  const end = async () => undefined;
  if (engine === 'memory') return { urls: ['', ''], end };
  if (engine === 'sqlite') {
    // In memory if possible, because a busy disk costs CPU too.
    const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : scratch, 'sqlite-'));
    const remove = async () => rmSync(folder, { recursive: true, force: true });
    return { urls: [`sqlite:${folder}/ours.db`, `sqlite:${folder}/theirs.db`], end: remove };
  }
  const servers = await Promise.all([startOwnServer(engine as ServerName), startOwnServer(engine as ServerName)]);
  return {
    urls: [servers[0].url, servers[1].url],
    end: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  };
}

/** Checks out the other revision, compares every workload and prints the ratios. */
export async function compareWith(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '10' },
      only: { type: 'string', default: [...Object.keys(CALLS), ...Object.keys(REQUESTS)].join(',') },
      engines: { type: 'string', default: 'memory,sqlite,postgres,redis,nats' },
      tree: { type: 'string' },
    },
  });
  const [revision] = positionals;
  if (revision === undefined && values.tree === undefined)
    throw new Error('Name the revision to compare with: npm run bench -- against REV');
  const scratch = mkdtempSync(join(tmpdir(), 'tidemark-against-'));
  const other = values.tree ?? join(scratch, 'tree');
  const isOwn = values.tree === undefined;
  if (isOwn) execFileSync('git', ['worktree', 'add', '--detach', other, revision!], { cwd: ROOT, stdio: 'ignore' });
  try {
    if (isOwn) execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: other, stdio: 'ignore' });
    copyFileSync(join(import.meta.dirname, CHILD), join(other, 'bench', CHILD));
    const only = values.only.split(',');
    for (const engine of values.engines.split(',')) {
      // The server's own cost does not depend on the engine. In memory, garbage collection of a growing store would
      // hide it.
      for (const what of only.filter((it) => !(it in REQUESTS) || engine === 'sqlite')) {
        const { urls, end } = await newDatabases(engine, scratch);
        const { ours, theirs, ratio } = await compare([ROOT, other], urls, what, Number(values.rounds)).finally(end);
        const verdict = ratio <= MOST ? 'kept' : 'MISSED';
        console.log(
          `${what} on ${engine}: ${ours.toFixed(1)} µs of CPU an operation against ${theirs.toFixed(1)}, ratio ${ratio.toFixed(3)} (≤ ${MOST}, ${verdict})`,
        );
      }
    }
  } finally {
    if (isOwn) execFileSync('git', ['worktree', 'remove', '--force', other], { cwd: ROOT, stdio: 'ignore' });
    rmSync(scratch, { recursive: true, force: true });
  }
}
