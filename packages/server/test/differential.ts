/** Sends the same call to a store and to a client of an equal store, and tells what came of each in comparable words. */
import { httpStore } from '@tidemark/client';
import { isTidemarkError, memoryStore, type Store } from '@tidemark/core';
import { createServer, type TidemarkServer } from '../src/index.ts';
import { type Filled, fill } from './filled-store.ts';

/** Live reads end by themselves when they have shown so much, or nothing for so long. */
const MOST_ITEMS = 10;
const QUIET_MS = 60;
/** How long an item may take that the other store has shown: on a busy machine every page is late. */
const PATIENCE_MS = 15_000;

/** Two equal stores: one is called directly, the other through its server. */
export interface Pair {
  local: Store;
  /** The store behind the server, to look at without it. */
  remote: Store;
  filled: Filled;
}

/** One server and one client, for one pair of stores after the other. */
export class Bench {
  readonly #server: TidemarkServer;
  readonly client: Store;
  #pair: Pair;

  private constructor(server: TidemarkServer, client: Store, pair: Pair) {
    this.#server = server;
    this.client = client;
    this.#pair = pair;
  }

  static async open(): Promise<Bench> {
    const pair = await newPair();
    let bench: Bench | null = null;
    const server = createServer({ store: current(() => bench?.pair.remote ?? pair.remote, pair.remote) });
    const url = await server.listen();
    bench = new Bench(server, await httpStore({ url, timeoutMs: 15_000 }), pair);
    return bench;
  }

  get pair(): Pair {
    return this.#pair;
  }

  /** New stores in place of those that a call has changed. */
  async renew(): Promise<void> {
    const { local, remote } = this.#pair;
    this.#pair = await newPair();
    await Promise.all([local.close(), remote.close()]);
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.#server.close();
    await Promise.all([this.#pair.local.close(), this.#pair.remote.close()]);
  }
}

const PARTS = new Set<PropertyKey>(['runs', 'kv', 'jobs', 'agents', 'artifacts', 'admin']);

/** A store that is always the one of the moment, in its views and parts too. */
function current(store: () => Store, first: Store): Store {
  return late(first, store, (name) => {
    if (name === 'info') return first.info;
    if (name === 'forTenant')
      return (tenantId: string) => current(() => store().forTenant(tenantId), first.forTenant(tenantId));
    if (!PARTS.has(name)) return undefined;
    const part = name as 'runs';
    return late<object>(
      first[part],
      () => store()[part],
      () => undefined,
    );
  });
}

/** An object whose methods are looked up when they are called: a server keeps them. */
function late<T extends object>(first: T, now: () => T, replaced: (name: PropertyKey) => unknown): T {
  return new Proxy(first, {
    get(_, name) {
      const own = replaced(name);
      if (own !== undefined) return own;
      if (typeof Reflect.get(first, name, first) !== 'function') return Reflect.get(now(), name, now());
      return (...args: unknown[]) =>
        (Reflect.get(now(), name, now()) as (...args: unknown[]) => unknown).apply(now(), args);
    },
  });
}

/** The same times and the same random bytes for both, so that what they store and mint is equal. */
function repeatableStore(): Store {
  let [now, state] = [Date.parse('2026-03-04T05:06:07.000Z'), 1];
  const random = (length: number) =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 24;
    });
  return memoryStore({ clock: () => now++, random, timeoutMs: 15_000 });
}

async function newPair(): Promise<Pair> {
  const [local, remote] = [repeatableStore(), repeatableStore()];
  const [filled] = [await fill(local), await fill(remote)];
  return { local, remote, filled };
}

/** What came of a call: its result, or the code and field of its error. */
export type Outcome = { result: unknown } | { code: string; field: string | undefined };

/** The outcome of a call; a read is given time to show as many items as the store it is compared with, or to fail as it did. */
export async function outcomeOf(call: () => unknown, other?: Outcome): Promise<Outcome> {
  try {
    return { result: plain(await settled(call(), other ? itemsIn(other) : 0)) };
  } catch (error) {
    if (isTidemarkError(error)) return { code: error.code, field: error.field };
    return { code: `not a TidemarkError: ${error}`, field: undefined };
  }
}

/** How many items are to be waited for: a failure comes in place of the first. */
function itemsIn(outcome: Outcome): number {
  if ('code' in outcome) return 1;
  return Array.isArray(outcome.result) ? outcome.result.length : 0;
}

async function settled(given: unknown, shown: number): Promise<unknown> {
  const result = await given;
  if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result)
    return firstOf(result as AsyncIterable<unknown>, shown);
  // A handle is an object of methods: what it says of its run shows what it was made of.
  if (typeof (result as { append?: unknown } | null)?.append === 'function')
    return (result as { append(type: string, payload: object, fields: object): unknown }).append(
      'Progress',
      { handle: true },
      { idempotencyKey: 'of the handle' },
    );
  return result;
}

/** The items that are there, at least so many; what would only come later is not waited for. */
async function firstOf(items: AsyncIterable<unknown>, atLeast: number): Promise<unknown[]> {
  const iterator = items[Symbol.asyncIterator]();
  const found: unknown[] = [];
  for (;;) {
    let timer: NodeJS.Timeout | undefined;
    const quiet = new Promise<'quiet'>((resolve) => {
      const usual = found.length === 0 ? QUIET_MS * 5 : QUIET_MS;
      timer = setTimeout(() => resolve('quiet'), found.length < atLeast ? PATIENCE_MS : usual);
    });
    const next = await Promise.race([iterator.next(), quiet]).finally(() => clearTimeout(timer));
    if (next !== 'quiet' && !next.done) found.push(next.value);
    if (next === 'quiet' || next.done || found.length === MOST_ITEMS) {
      iterator.return?.().catch(() => {});
      return found;
    }
  }
}

const MINTED = /\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g;
const TIMES = /"(\w*[aA]t|leaseUntil|timeout_at|ttl|persistedAt|head|link|revision)":("[^"]*"|\d+)/g;

/** Without ids that each side mints, and times, which move with every look at the clock. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (_, it: unknown) =>
    it instanceof Uint8Array || (it as { type?: string })?.type === 'Buffer'
      ? Buffer.from(it as Uint8Array).toString('base64')
      : it,
  );
  return JSON.parse(text.replace(MINTED, 'minted').replace(TIMES, '"$1":"some"'));
}

/** Everything a store has, to see what a call has changed. */
export async function contentsOf(store: Store): Promise<unknown> {
  const contents: Record<string, unknown> = {};
  for (const tenantId of (await store.admin.listTenants()).items) {
    const { runs, kv, agents, artifacts } = store.forTenant(tenantId);
    const { items: summaries } = await runs.listRuns();
    const events: unknown[] = [];
    for (const { runId } of summaries) events.push(await runs.fetchEvents(runId));
    const traces = (await store.admin.listAllTraces({ tenantId })).items;
    const sessions = (await agents.listSessions()).items.map(({ sessionId }) => sessionId);
    const memory = (await agents.listMemory()).items.map(({ key }) => key);
    contents[tenantId] = plain({
      summaries,
      events,
      kv: (await kv.scanPage('')).items.map(({ key, record }) => [key, textsOf(record.fields)]),
      ofTraces: await Promise.all(
        [...traces, null].map(async (traceId) => [
          await agents.loadHistory(traceId),
          traceId && (await agents.listRemoteBindings(traceId)),
          traceId && (await agents.listPlannerEvents(traceId)),
        ]),
      ),
      ofSessions: await Promise.all(
        sessions.map(async (sessionId) => [
          sessionId,
          await agents.listTasks(sessionId),
          await agents.listUpdates(sessionId),
          await agents.listSteering(sessionId),
          await agents.listTraces(sessionId),
        ]),
      ),
      memory: await Promise.all(memory.map((key) => agents.getMemoryRecord(key))),
      pauses: (await agents.listPauses()).items,
      artifacts: (await artifacts.list()).items,
    });
  }
  return contents;
}

function textsOf(fields: Record<string, Uint8Array>): [string, string][] {
  // Times of jobs and of erasures move with every look at the clock.
  const shown = Object.entries(fields).filter(([name]) => name !== 'at' && !name.endsWith('_at'));
  return shown.map(([name, value]) => [name, Buffer.from(value).toString()]);
}

type Path = readonly (string | number)[];

/** A changed copy of the arguments of a call, with what was done to them. */
export interface Variant {
  name: string;
  args: unknown[];
}

/** Made anew for every use: a call may keep what it is given. */
const VALUES: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ["''", () => ''],
  ['[]', () => []],
  ['{}', () => ({})],
];

/** The call as it is, and with each argument and member in turn absent, `undefined`, `null` and empty. */
export function* variantsOf(given: () => unknown[]): Generator<Variant> {
  const make = () => copyOf(given()) as unknown[];
  yield { name: 'as it is', args: make() };
  for (const path of pathsIn(make())) {
    const at = nameOf(path);
    if (path.length > 1) yield { name: `without ${at}`, args: changed(make(), path, null) };
    else if (path[0] === make().length - 1) yield { name: `without ${at}`, args: make().slice(0, -1) };
    for (const [name, value] of VALUES)
      yield { name: `${at} ${name}`, args: changed(make(), path, { value: value() }) };
  }
}

/** A copy of plain objects and arrays; everything else is passed on as it is. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)]));
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (!isPlain(value) && !Array.isArray(value)) return;
  for (const [name, member] of Object.entries(value))
    yield* pathsIn(member, [...path, Array.isArray(value) ? Number(name) : name]);
}

function nameOf(path: Path): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`)).join('');
}

function changed(args: unknown[], path: Path, to: { value: unknown } | null): unknown[] {
  let holder = args as unknown as Record<string | number, unknown>;
  for (const part of path.slice(0, -1)) holder = holder[part] as typeof holder;
  const last = path.at(-1)!;
  if (to) holder[last] = to.value;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
  return args;
}
