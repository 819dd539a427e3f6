/**
 * `npm run bench -- langgraph [sqlite|postgres] [--rounds 9] [--messages 40]`: our LangGraph saver beside LangGraph's
 * own on the same server, in alternating rounds. Prints the ratio of the rates of `put` and `getTuple` and that of the CPU
 * of the process per call (above 1: Tidemark is faster), and the ratio of stored bytes after a chat of 100 turns (below
 * 1: Tidemark is smaller). Install their savers first with `npm ci --prefix bench/langgraph`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { startOwnServer } from '../../scripts/servers/index.ts';
import { median } from '../measure.ts';
import { cpuOfProcesses } from '../processes.ts';
import { type Contender, ON_SQLITE, onPostgres, type Pair } from './contenders.ts';
import { Chat, runChat } from './workload.ts';

const TURNS = 100;
/** Calls per round. */
const CALLS = 240;
const WARM_ROUNDS = 2;
/** Steps of the thread that `getTuple` reads. */
const STEPS = 50;

interface Settings {
  rounds: number;
  messages: number;
  /** The process of the server, whose CPU is measured too. */
  pid?: number | undefined;
}

/** The figures of a round, per call. */
interface Cost {
  wallUs: number;
  cpuUs: number;
  serverUs: number;
}

interface Result {
  scenario: string;
  /** Above 1, ours is faster, or larger. */
  ratio: number;
  ours: number;
  theirs: number;
  /** The CPU per call, in microseconds. Above 1, ours needs less. */
  cpu?: { ratio: number; ours: number; theirs: number; ourServer: number; theirServer: number };
}

/** Prepares a round: returns the function that a caller calls repeatedly. */
type Work = (contender: Contender) => Promise<(caller: number) => Promise<void>>;

async function putting(chats: readonly Chat[]): Promise<Work> {
  return async ({ saver }) =>
    (caller) =>
      chats[caller]!.put(saver);
}

function scenariosOf({ messages }: Settings): [name: string, callers: number, work: () => Promise<Work>][] {
  const newChats = (callers: number) => Array.from({ length: callers }, () => new Chat(messages));
  const chats = new Map<Contender, Chat>();
  const getting =
    (saverOf: (contender: Contender) => Contender['saver']) => async (): Promise<Work> => async (contender) => {
      let chat = chats.get(contender);
      if (chat === undefined) {
        chat = new Chat(messages);
        chats.set(contender, chat);
        for (let step = 0; step < STEPS; step++) await chat.put(contender.saver);
      }
      return () => chat.get(saverOf(contender));
    };
  return [
    ['put, 1 caller', 1, () => putting(newChats(1))],
    ['put, 16 callers', 16, () => putting(newChats(16))],
    ['getTuple, 1 caller', 1, getting(({ saver }) => saver)],
    ['getTuple, 16 callers', 16, getting(({ saver }) => saver)],
    ['getTuple, new process', 1, getting((contender) => contender.another())],
  ];
}

async function roundOf(contender: Contender, callers: number, work: Work, pid: number | undefined): Promise<Cost> {
  const call = await work(contender);
  const each = CALLS / callers;
  const server = pid === undefined ? 0 : cpuOfProcesses(pid);
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let at = 0; at < each; at++) await call(caller);
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  const wallUs = ((performance.now() - started) * 1_000) / CALLS;
  const serverUs = pid === undefined ? 0 : (cpuOfProcesses(pid) - server) / CALLS;
  return { wallUs, cpuUs: (user + system) / CALLS, serverUs };
}

async function compareCalls(pair: Pair, settings: Settings): Promise<Result[]> {
  const [ours, theirs] = [await pair.ours(), await pair.theirs()];
  const results: Result[] = [];
  for (const [scenario, callers, prepare] of scenariosOf(settings)) {
    const rounds: { ours: Cost; theirs: Cost }[] = [];
    for (let round = 0; round < settings.rounds + WARM_ROUNDS; round++) {
      const run = async (contender: Contender) => roundOf(contender, callers, await prepare(), settings.pid);
      if (round % 2 === 0) rounds.push({ ours: await run(ours), theirs: await run(theirs) });
      else {
        const other = await run(theirs);
        rounds.push({ ours: await run(ours), theirs: other });
      }
    }
    results.push(printed(resultOf(scenario, rounds.slice(WARM_ROUNDS)), theirs.name, settings));
  }
  await ours.close();
  await theirs.close();
  return results;
}

function resultOf(scenario: string, rounds: readonly { ours: Cost; theirs: Cost }[]): Result {
  const of = (side: 'ours' | 'theirs', figure: keyof Cost) => median(rounds.map((round) => round[side][figure]));
  const mean = (side: 'ours' | 'theirs') => rounds.reduce((sum, it) => sum + it[side].serverUs, 0) / rounds.length;
  const ratio = (figure: 'wallUs' | 'cpuUs') => median(rounds.map((it) => it.theirs[figure] / it.ours[figure]));
  return {
    scenario,
    ratio: ratio('wallUs'),
    ours: 1e6 / of('ours', 'wallUs'),
    theirs: 1e6 / of('theirs', 'wallUs'),
    cpu: {
      ratio: ratio('cpuUs'),
      ours: of('ours', 'cpuUs'),
      theirs: of('theirs', 'cpuUs'),
      // The kernel counts the CPU of processes in steps that are longer than a round.
      ourServer: mean('ours'),
      theirServer: mean('theirs'),
    },
  };
}

async function storedBytes(contender: Contender): Promise<number> {
  await runChat(contender.saver, TURNS);
  await contender.close();
  return contender.bytes();
}

async function compareSizes(pair: Pair): Promise<Result[]> {
  const theirs = await pair.theirs();
  const stored = await storedBytes(theirs);
  const results: Result[] = [];
  for (const compress of [false, true]) {
    const bytes = await storedBytes(await pair.ours({ compress }));
    const scenario = `${TURNS} turns stored${compress ? ', compressed' : ''}`;
    results.push({ scenario, ratio: bytes / stored, ours: bytes / 1_024, theirs: stored / 1_024 });
    printed(results.at(-1)!, theirs.name, {});
  }
  return results;
}

function printed(result: Result, contender: string, { pid }: Pick<Settings, 'pid'>): Result {
  const { scenario, ratio, ours, theirs, cpu } = result;
  const unit = cpu ? '/s' : ' KiB';
  const cells = [
    scenario.padEnd(26),
    `${ratio.toFixed(2).padStart(6)} × ${contender.padEnd(20)}`,
    `${ours.toFixed(0)}${unit} against ${theirs.toFixed(0)}${unit}`.padEnd(24),
  ];
  if (cpu) cells.push(`CPU ${cpu.ratio.toFixed(2)}: ${cpu.ours.toFixed(0)} µs against ${cpu.theirs.toFixed(0)}`);
  if (cpu && pid) cells.push(`server ${cpu.ourServer.toFixed(0)} µs against ${cpu.theirServer.toFixed(0)}`);
  console.log(cells.join('  '));
  return result;
}

async function comparePair(engine: string, pair: Pair, settings: Settings): Promise<Result[]> {
  console.log(`\n${engine}; ${settings.messages} messages; load ${loadavg()[0]!.toFixed(0)}`);
  return [...(await compareCalls(pair, settings)), ...(await compareSizes(pair))];
}

export async function compareSavers(args: string[]): Promise<void> {
  const options = { rounds: { type: 'string', default: '9' }, messages: { type: 'string', default: '40' } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const isWanted = (engine: string) => positionals.length === 0 || positionals.includes(engine);
  const settings = { rounds: Number(values.rounds), messages: Number(values.messages) };
  const figures: Record<string, Result[]> = {};
  if (isWanted('sqlite')) figures.sqlite = await comparePair('SQLite', ON_SQLITE, settings);
  if (isWanted('postgres')) {
    const server = await startOwnServer('postgres');
    try {
      const title = `PostgreSQL ${server.version}`;
      const ofServer = { ...settings, pid: server.started?.pid };
      figures.postgres = await comparePair(title, onPostgres(server.url), ofServer);
    } finally {
      await server.stop();
    }
  }
  const results = new URL('../results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
  const report = { at: new Date().toISOString(), machine, messages: settings.messages, figures };
  writeFileSync(new URL('langgraph.json', results), `${JSON.stringify(report, null, 2)}\n`);
}
