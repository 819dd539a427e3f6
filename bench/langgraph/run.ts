/**
 * `npm run bench -- langgraph [sqlite|postgres] [--rounds 5]`: compares our LangGraph saver with LangGraph's own on the
 * same server, in alternating rounds. Prints the ratio of rates of `put` and `getTuple` (above 1: Tidemark is faster),
 * and the ratio of stored bytes after a chat of 100 turns (below 1: Tidemark is smaller). Install their savers first
 * with `npm ci --prefix bench/langgraph`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { type Checkpoint, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { startOwnServer } from '../../scripts/servers/index.ts';
import { median } from '../measure.ts';
import { type Contender, ON_SQLITE, onPostgres, type Pair } from './contenders.ts';

const TURNS = 100;
/** Calls per round. */
const CALLS = 200;
const MESSAGES = 40;
const CALLERS = [1, 16];

interface Result {
  scenario: string;
  contender: string;
  ratio: number;
  ours: number;
  theirs: number;
}

const WORDS = 'the engine stores a checkpoint for every step of a graph and returns the latest one when asked'.split(
  ' ',
);

/** Returns text that compresses about as well as prose. */
function prose(seed: number, words: number): string {
  let state = seed * 2_654_435_761 + 1;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
  return Array.from(
    { length: words },
    () => `${WORDS[next() % WORDS.length]}${next() % 40 === 0 ? `-${next()}` : ''}`,
  ).join(' ');
}

let clock = 0;

/** Stores `CALLS` checkpoints. Each changes the messages, as a step of a chat does. */
async function putRound({ saver }: Contender, callers: number): Promise<number> {
  return rateOf(callers, async (thread, count) => {
    const messages: BaseMessage[] = Array.from({ length: MESSAGES }, (_, at) => new HumanMessage(prose(at, 60)));
    let config = { configurable: { thread_id: thread, checkpoint_ns: '' } };
    for (let step = 1; step <= count; step++) {
      const values = { messages, topic: 'checkpoints', 'branch:to:model': step };
      const versions = { messages: step, topic: 1, 'branch:to:model': step };
      const checkpoint: Checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(clock++),
        channel_values: values,
        channel_versions: versions,
      };
      const changed = step === 1 ? versions : { messages: step, 'branch:to:model': step };
      const metadata = { source: 'loop', step, parents: {} } as const;
      config = (await saver.put(config, checkpoint, metadata, changed)) as typeof config;
      messages[step % MESSAGES] = new AIMessage(prose(step, 60));
    }
  });
}

async function getRound({ saver }: Contender, callers: number): Promise<number> {
  const tuple = await Array.fromAsync(saver.list({ configurable: {} }, { limit: 1 }));
  const { thread_id } = tuple[0]!.config.configurable!;
  return rateOf(callers, async (_, count) => {
    for (let at = 0; at < count; at++) await saver.getTuple({ configurable: { thread_id, checkpoint_ns: '' } });
  });
}

/** Returns the calls per second of several callers. */
async function rateOf(callers: number, work: (thread: string, count: number) => Promise<void>): Promise<number> {
  const started = performance.now();
  const each = Math.ceil(CALLS / callers);
  await Promise.all(Array.from({ length: callers }, () => work(crypto.randomUUID(), each)));
  return (each * callers * 1_000) / (performance.now() - started);
}

/** Runs a chat and returns what it stores. */
async function chat({ saver, bytes, close }: Contender): Promise<number> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', ({ messages }) => ({ messages: [new AIMessage(prose(messages.length, 120))] }))
    .addEdge(START, 'model')
    .addEdge('model', END)
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: 'chat' } };
  for (let turn = 0; turn < TURNS; turn++)
    await graph.invoke({ messages: [new HumanMessage(prose(1_000 + turn, 25))] }, config);
  const { messages } = (await graph.getState(config)).values as { messages: BaseMessage[] };
  if (messages.length !== 2 * TURNS) throw new Error(`The chat has ${messages.length} messages`);
  const size = await bytes();
  await close();
  return size;
}

async function comparePair(engine: string, { ours: openOurs, theirs: openTheirs }: Pair, rounds: number) {
  console.log(`\n${engine}; load ${loadavg()[0]!.toFixed(0)}`);
  const results: Result[] = [];
  const [ours, theirs] = [await openOurs(), await openTheirs()];
  for (const [name, round] of Object.entries({ put: putRound, getTuple: getRound })) {
    for (const callers of CALLERS) {
      const pairs: [number, number][] = [];
      for (let at = 0; at <= rounds; at++) pairs.push([await round(ours, callers), await round(theirs, callers)]);
      const measured = pairs.slice(1);
      const scenario = `${name}, ${callers} ${callers === 1 ? 'caller' : 'callers'}`;
      const side = (which: 0 | 1) => median(measured.map((pair) => pair[which]));
      const ratio = median(measured.map(([mine, other]) => mine / other));
      results.push(print({ scenario, contender: theirs.name, ratio, ours: side(0), theirs: side(1) }, '/s'));
    }
  }
  await ours.close();
  await theirs.close();
  const stored = await chat(await openTheirs());
  for (const compress of [false, true]) {
    const bytes = await chat(await openOurs({ compress }));
    const scenario = `${TURNS} turns stored${compress ? ', compressed' : ''}`;
    const figures = { ours: bytes / 1_024, theirs: stored / 1_024 };
    results.push(print({ scenario, contender: theirs.name, ratio: bytes / stored, ...figures }, ' KiB'));
  }
  return results;
}

function print(result: Result, unit: string): Result {
  const { scenario, contender, ratio, ours, theirs } = result;
  const figures = `${ours.toFixed(0)}${unit} against ${theirs.toFixed(0)}${unit}`;
  console.log(`${scenario.padEnd(30)} ${ratio.toFixed(2).padStart(6)} × ${contender.padEnd(20)} ${figures}`);
  return result;
}

export async function compareSavers(args: string[]): Promise<void> {
  const options = { rounds: { type: 'string', default: '5' } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const isWanted = (engine: string) => positionals.length === 0 || positionals.includes(engine);
  const rounds = Number(values.rounds);
  const figures: Record<string, Result[]> = {};
  if (isWanted('sqlite')) figures.sqlite = await comparePair('SQLite', ON_SQLITE, rounds);
  if (isWanted('postgres')) {
    const server = await startOwnServer('postgres');
    try {
      figures.postgres = await comparePair(`PostgreSQL ${server.version}`, onPostgres(server.url), rounds);
    } finally {
      await server.stop();
    }
  }
  const results = new URL('../results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
  const report = { at: new Date().toISOString(), machine, figures };
  writeFileSync(new URL('langgraph.json', results), `${JSON.stringify(report, null, 2)}\n`);
}
