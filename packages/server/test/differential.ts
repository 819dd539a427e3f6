/** Sends the same call to a store and to a client of an equal store, and returns comparable outcomes. */
import { httpStore } from '@tidemark/client';
import { isTidemarkError, memoryStore, type Store } from '@tidemark/core';
import { createServer, type TidemarkServer } from '../src/index.ts';
import { type Filled, fill } from './filled-store.ts';

/** Live reads end after this many items, or after this long without one. */
const MAX_ITEMS = 10;
const QUIET_MS = 60;
/** How long to wait for an item that the other store has returned. Long, because pages are late on a busy machine. */
const PATIENCE_MS = 15_000;

/** Two equal stores: one is called directly, the other through its server. */
export interface Pair {
  local: Store;
  /** The store behind the server, for direct access. */
  remote: Store;
  filled: Filled;
}

/** One server and one client for a sequence of store pairs. */
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

  /** Replaces the stores after a call has changed them. */
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

/** A store that always forwards to the current one, in its views and parts too. */
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

/** An object that looks up methods when they are called, because a server keeps references to them. */
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

/** Both stores get the same times and random bytes, so that stored and minted values are equal. */
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

/** The result of a call, or the code and field of its error. */
export type Outcome = { result: unknown } | { code: string; field: string | undefined };

/** Returns the outcome of a call. A read waits for as many items as the other store returned, or for its error. */
export async function outcomeOf(call: () => unknown, other?: Outcome): Promise<Outcome> {
  try {
    return { result: plain(await settled(call(), other ? itemsIn(other) : 0)) };
  } catch (error) {
    if (isTidemarkError(error)) return { code: error.code, field: error.field };
    return { code: `not a TidemarkError: ${error}`, field: undefined };
  }
}

/** Returns how many items to wait for. An error takes the place of the first. */
function itemsIn(outcome: Outcome): number {
  if ('code' in outcome) return 1;
  return Array.isArray(outcome.result) ? outcome.result.length : 0;
}

async function settled(given: unknown, shown: number): Promise<unknown> {
  const result = await given;
  if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result)
    return firstOf(result as AsyncIterable<unknown>, shown);
  // A handle consists of methods, so an append is needed to see which run it was created for.
  if (typeof (result as { append?: unknown } | null)?.append === 'function')
    return (result as { append(type: string, payload: object, fields: object): unknown }).append(
      'Progress',
      { handle: true },
      { idempotencyKey: 'of the handle' },
    );
  return result;
}

/** Returns the items that are available, at least `atLeast`, without waiting for later ones. */
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
    if (next === 'quiet' || next.done || found.length === MAX_ITEMS) {
      iterator.return?.().catch(() => {});
      return found;
    }
  }
}

const MINTED = /\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g;
const TIMES = /"(\w*[aA]t|leaseUntil|timeout_at|ttl|persistedAt|head|link|revision)":("[^"]*"|\d+)/g;

/** Removes ids that each side mints, and times, which advance with every clock read. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (_, it: unknown) =>
    it instanceof Uint8Array || (it as { type?: string })?.type === 'Buffer'
      ? Buffer.from(it as Uint8Array).toString('base64')
      : it,
  );
  return JSON.parse(text.replace(MINTED, 'minted').replace(TIMES, '"$1":"some"'));
}

/** Returns all data of a store, to find out what a call has changed. */
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
          await agents.listBindings(sessionId),
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
  // Times of jobs and erasures advance with every clock read.
  const shown = Object.entries(fields).filter(([name]) => name !== 'at' && !name.endsWith('_at'));
  return shown.map(([name, value]) => [name, Buffer.from(value).toString()]);
}

type Path = readonly (string | number)[];

/** A changed copy of the arguments of a call, with a description of the change. */
export interface Variant {
  name: string;
  args: unknown[];
}

/** Created for every use: a call may keep its arguments. */
const VALUES: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ["''", () => ''],
  ['[]', () => []],
  ['{}', () => ({})],
];

/** Yields the call unchanged, and with each argument and member in turn absent, `undefined`, `null` and empty. */
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

/** Copies plain objects and arrays; other values are passed on. */
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
