/**
 * The stages of an operation, found in a CPU profile: each sample belongs to the innermost frame that a rule names. A
 * frame without a rule, such as a native function, belongs to its caller.
 */
import type { Profiler } from 'node:inspector';

export const STAGES = [
  'validate',
  'JSON',
  'hash',
  'group',
  'rules',
  'encode',
  'driver',
  'socket',
  'gc',
  'work',
] as const;
export type Stage = (typeof STAGES)[number];

/** The work of each stage, for the legend of the table. */
export const MEANINGS: Readonly<Record<Stage, string>> = {
  validate: 'checks of arguments and filling in the envelope',
  JSON: 'encoding and decoding JSON',
  hash: 'hash chain, keys and checksums',
  group: 'group commit, time limits, promises and the event loop',
  rules: 'what the library decides: runs, records, jobs',
  encode: 'statements, arguments and replies of the engine',
  driver: "the driver of the engine's server, or the engine itself if it is in this process",
  socket: 'sockets and streams of Node',
  gc: 'garbage collection',
  work: 'the benchmark itself',
};

/** The first rule that matches the file of a frame names its stage. */
const RULES: readonly (readonly [RegExp, Stage])[] = [
  [/\/core\/src\/checks\/(json|bytes)|\/core\/src\/events\/.*json/, 'JSON'],
  [
    /\/core\/src\/(hash|runs\/(chain|keys)|checks\/sums)|\/sums\.ts$|record-sums|node:internal\/crypto|node:zlib/,
    'hash',
  ],
  [/\/core\/src\/(checks|runs\/(envelope|faults|prepare|upcast))/, 'validate'],
  [/\/core\/src\/tools\/(group-commit|contention|context|deadlines|lanes|call-start)|call-batcher/, 'group'],
  [/\/core\/src\/runs\/event-forms/, 'JSON'],
  [/\/core\/src\/keyed\//, 'encode'],
  [/\/core\/src\/memory\//, 'driver'],
  [/\/packages\/core\/src\//, 'rules'],
  [/\/packages\/(wire|client|server)\/src\//, 'rules'],
  [/\/packages\/(sql|sqlite|postgres|redis|nats)\/src\//, 'encode'],
  [/node_modules|node:sqlite|node:internal\/deps\/undici/, 'driver'],
  [
    /node:(net|tls|dgram|stream|http|_http|internal\/(streams|stream_base|js_stream|http|webstreams))|node:_http/,
    'socket',
  ],
  [/node:internal\/(process|timers|async|event)|node:(timers|events|async_hooks)/, 'group'],
  [/\/bench\//, 'work'],
];

/** Native functions that have their own stage, by name. */
const NATIVE: Readonly<Record<string, Stage>> = {
  '(garbage collector)': 'gc',
  writev: 'socket',
  writeUtf8String: 'socket',
  writeLatin1String: 'socket',
  writeBuffer: 'socket',
  readStart: 'socket',
  stringify: 'JSON',
  parse: 'JSON',
  hash: 'hash',
  oneShotDigest: 'hash',
  update: 'hash',
  crc32: 'hash',
  // Statements of `node:sqlite`.
  run: 'driver',
  all: 'driver',
  get: 'driver',
  iterate: 'driver',
  exec: 'driver',
  digest: 'hash',
};

type Node = Profiler.ProfileNode;

function stageOf({ callFrame: { functionName, url } }: Node): Stage | null {
  if (url === '') return NATIVE[functionName] ?? null;
  return RULES.find(([pattern]) => pattern.test(url))?.[1] ?? null;
}

/** A time during which operations were measured, in microseconds of the clock of `process.hrtime`. */
export interface Window {
  from: number;
  to: number;
}

/** Returns the microseconds per stage within the windows. Time in which the process was idle does not count. */
export function stagesOf(
  { nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile,
  windows: readonly Window[],
): Record<Stage, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id] as const)));
  const stages = new Map<number, Stage | null>();
  const find = (id: number): Stage | null => {
    const known = stages.get(id);
    if (known !== undefined) return known;
    const node = byId.get(id)!;
    const parent = parents.get(id);
    // Time outside of any function belongs to the event loop, which reads and writes the sockets.
    const outermost = node.callFrame.functionName === '(program)' ? 'socket' : null;
    const stage = stageOf(node) ?? (parent === undefined ? outermost : (find(parent) ?? outermost));
    stages.set(id, stage);
    return stage;
  };
  const costs = Object.fromEntries(STAGES.map((stage) => [stage, 0])) as Record<Stage, number>;
  let [time, next] = [startTime, 0];
  for (const [at, id] of samples.entries()) {
    const delta = timeDeltas[at] ?? 0;
    time += delta;
    while (next < windows.length && windows[next]!.to < time) next++;
    if (next === windows.length) break;
    if (time - delta < windows[next]!.from || byId.get(id)?.callFrame.functionName === '(idle)') continue;
    costs[find(id) ?? 'group'] += delta;
  }
  return costs;
}
