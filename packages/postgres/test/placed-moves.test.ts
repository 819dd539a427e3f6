/** Moves of tenants between servers while others write: nothing is lost or doubled, and a move can be resumed or undone. */
import { type FeedItem, isTidemarkError, type RunEventInput, type Store, textOf } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type MoveProgress, placementOf } from '../src/index.ts';
import { openStore, runEvent, sharedServer, WITHOUT_POSTGRES } from './databases.ts';
import { createPlaced } from './placed.ts';
import { withClient } from './servers.ts';

const TENANT = 'acme';
const QUICK = { keepOldMs: 0 };
const SLOW_MS = 120_000;

async function placed() {
  const { options, urls, drop } = await createPlaced([sharedServer(), sharedServer(), sharedServer()]);
  onTestFinished(drop);
  const { url, ...others } = { ...options, placement: () => 'main' };
  const open = () => openStore(url, others);
  return { url, others, urls, open, store: await open() };
}

/** Appends to several runs of two tenants until it is stopped, and retries what is refused. */
function startWriter(store: Store) {
  const acknowledged: string[] = [];
  const refusals: unknown[] = [];
  const stop = new AbortController();
  const write = async (tenantId: string, lane: number) => {
    for (let at = 0; !stop.signal.aborted; at++) {
      const event: RunEventInput = { ...runEvent(`run-${lane}-${at % 3}`), tenantId };
      for (;;) {
        try {
          await store.runs.appendEvent(event);
          break;
        } catch (error) {
          if (!isTidemarkError(error) || !error.retryable) throw error;
          refusals.push(error);
          await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? 20));
        }
      }
      acknowledged.push(event.eventId!);
    }
  };
  onTestFinished(() => stop.abort());
  const lanes = Promise.all([write(TENANT, 0), write(TENANT, 1), write('other', 0)]);
  return {
    refusals,
    stop: async () => {
      stop.abort();
      await lanes;
      return acknowledged;
    },
  };
}

/** Follows the feed from a cursor in small pages until it has the wanted events and, by default, nothing follows. */
async function readFeed(store: Store, wanted: number, after?: string, toEnd = true): Promise<FeedItem[]> {
  const items: FeedItem[] = [];
  const timeout = AbortSignal.timeout(60_000);
  for (let cursor = after; ; ) {
    const page = await store.runs.feedPage({ limit: 7, wait: 500, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    const isEnd = !toEnd || page.next === cursor || page.next === undefined;
    if (isEnd && (items.length >= wanted || timeout.aborted)) return items;
    cursor = page.next;
  }
}

/** Checks that a feed has exactly these events, and every run in its order. */
function expectEachEventOnce(items: readonly FeedItem[], eventIds: readonly string[]): void {
  expect(items.map(({ event }) => event.eventId).sort()).toEqual([...eventIds].sort());
  const last = new Map<string, number>();
  for (const { event } of items) {
    const run = `${event.tenantId} ${event.runId}`;
    expect(event.runSeq, run).toBeGreaterThan(last.get(run) ?? 0);
    last.set(run, event.runSeq);
  }
}

async function rowsOf(url: string, tenantId: string): Promise<number> {
  const tables = [
    'runs',
    'run_events',
    'run_notices',
    'kv_records',
    'kv_fields',
    'memory_states',
    'artifacts',
    'requests',
  ];
  const counts = tables.map((table) => `(SELECT count(*) FROM tidemark.${table} WHERE tenant_id = $1)`);
  const { rows } = await withClient(url, (client) => client.query(`SELECT ${counts.join(' + ')} AS count`, [tenantId]));
  return Number(rows[0].count);
}

/** Stores something in every part, and returns a function that compares it. */
async function fill(store: Store) {
  const view = store.forTenant(TENANT);
  const requestId = 'request-1';
  await view.runs.handle('old').append('RunStarted', { by: 'ada' });
  const { eventId } = await view.runs.handle('old').append('Noted', { secret: 'gone' });
  await view.runs.redactEvent('old', 2, { by: 'ada', reason: 'secret' });
  await view.runs.handle('removed').append('RunStarted');
  await view.runs.deleteRun('removed');
  await view.kv.put('key', { text: 'value', bytes: new Uint8Array([0, 255]) });
  await view.kv.compareAndSwap('swapped', 'field', null, 'first', { requestId });
  await view.agents.saveMemoryState('memory', { nested: { list: [1, 'two', null] } });
  const { id } = await view.artifacts.putText('a text');
  return async (at: Store) => {
    const now = at.forTenant(TENANT);
    expect(eventId).toBeDefined();
    expect((await now.runs.verify('old')).ok).toBe(true);
    expect((await now.runs.fetchEvents('old')).map(({ redacted }) => redacted?.by)).toEqual([undefined, 'ada']);
    await expect(now.runs.handle('removed').append('RunStarted')).rejects.toMatchObject({ code: 'RUN_DELETED' });
    expect([...(await now.kv.get('key'))!.fields.bytes!]).toEqual([0, 255]);
    // A retry of what was done on the old server.
    expect(await now.kv.compareAndSwap('swapped', 'field', null, 'first', { requestId })).toBe(true);
    expect(await now.kv.compareAndSwap('swapped', 'field', null, 'second')).toBe(false);
    expect(await now.agents.loadMemoryState('memory')).toEqual({ nested: { list: [1, 'two', null] } });
    expect(Buffer.from((await now.artifacts.get(id))!).toString()).toBe('a text');
  };
}

describe.skipIf(WITHOUT_POSTGRES)('Moves of tenants', () => {
  it.each([
    [
      'each stay left events, and nothing else moves the cursors on',
      ['', 'north', '', 'main', '', 'south', '', 'main', ''],
    ],
    ['some stays left none', ['north', 'south', '', 'north', 'main', '']],
  ])('keeps the order of a run for a new reader after %s', async (_, steps) => {
    const { store } = await placed();
    const eventIds: string[] = [];
    await placementOf(store)!.place(TENANT, 'main');
    for (const to of steps) {
      if (to !== '') await placementOf(store)!.move(TENANT, to, QUICK);
      else eventIds.push((await store.runs.appendEvent({ ...runEvent('run'), tenantId: TENANT })).eventId);
    }
    for (const limit of [1, 2, 100]) {
      const items: FeedItem[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await store.runs.feedPage({ limit, ...(cursor === undefined ? {} : { cursor }) });
        if (page.items.length === 0) break;
        items.push(...page.items);
        cursor = page.next;
      }
      expectEachEventOnce(items, eventIds);
    }
  });

  it(
    'loses and doubles nothing while others write, for readers with old and new cursors',
    async () => {
      const { store, open, urls } = await placed();
      const peer = await open();
      const compare = await fill(store);
      const early = await readFeed(store, 2);
      const writer = startWriter(peer);
      const middle = await readFeed(store, early.length + 20, undefined, false);
      const placement = placementOf(store)!;
      const report = await placement.move(TENANT, 'north', QUICK);
      expect(report).toMatchObject({ from: 'main', to: 'north' });
      expect(await rowsOf(urls[0]!, TENANT)).toBe(0);
      await compare(peer);
      const again = await placement.move(TENANT, 'east', QUICK).catch((error) => error);
      expect(again).toMatchObject({ code: 'INVALID_ARGUMENT' });
      await placement.move(TENANT, 'south', QUICK);
      await placement.move(TENANT, 'main', QUICK);
      for (const refusal of writer.refusals) expect(refusal).toMatchObject({ code: 'UNAVAILABLE' });
      const stored = [...early.map(({ event }) => event.eventId), ...(await writer.stop())];
      await compare(store);
      for (const reader of [store, peer]) {
        expectEachEventOnce(await readFeed(reader, stored.length), stored);
        for (const cursor of [early.at(-1)!, middle.at(-1)!, middle[middle.length >> 1]!]) {
          const at = middle.findIndex(({ event }) => event.eventId === cursor.event.eventId);
          const before = (at < 0 ? early : middle.slice(0, at + 1)).map(({ event }) => event.eventId);
          const rest = stored.filter((eventId) => !before.includes(eventId));
          expectEachEventOnce(await readFeed(reader, rest.length, cursor.cursor), rest);
        }
      }
      expect((await store.admin.listTenants()).items).toEqual([TENANT, 'other']);
      expect((await placement.list()).items).toEqual([
        { tenantId: TENANT, server: 'main' },
        { tenantId: 'other', server: 'main' },
      ]);
    },
    SLOW_MS,
  );

  it(
    'refuses a writer that holds the old placement, and admits it at the new server',
    async () => {
      const { store, url } = await placed();
      await store.forTenant(TENANT).kv.put('key', { at: 'main' });
      const stalled = await openStore(url);
      await placementOf(store)!.move(TENANT, 'north', QUICK);
      const view = stalled.forTenant(TENANT);
      const refused = { code: 'UNAVAILABLE', retryAfterMs: expect.any(Number), outcome: 'rejected' };
      await expect(view.kv.put('key', { at: 'old' })).rejects.toMatchObject(refused);
      await expect(view.runs.handle('run').append('RunStarted')).rejects.toMatchObject(refused);
      await expect(view.artifacts.putText('text')).rejects.toMatchObject(refused);
      await expect(view.agents.saveMemoryState('memory', {})).rejects.toMatchObject(refused);
      // A neighbour in the same group is stored.
      const [, neighbour] = await Promise.allSettled([
        stalled.runs.appendEvent({ ...runEvent('run'), tenantId: TENANT }),
        stalled.runs.appendEvent({ ...runEvent('run'), tenantId: 'other' }),
      ]);
      expect(neighbour.status).toBe('fulfilled');
      expect(await rowsOf(url, TENANT)).toBe(0);
      expect(textOf((await store.forTenant(TENANT).kv.get('key'))?.fields.at)).toBe('main');
    },
    SLOW_MS,
  );

  it(
    'can be resumed by another process, or undone, wherever it was interrupted',
    async () => {
      const { store, open } = await placed();
      const other = await open();
      const compare = await fill(store);
      let [from, to] = ['main', 'north'];
      for (const step of ['copying', 'verifying', 'switching', 'removing'] as MoveProgress['step'][]) {
        const interrupt = async () => {
          const stop = new AbortController();
          const onProgress = (progress: MoveProgress) => progress.step === step && stop.abort();
          const move = placementOf(store)!.move(TENANT, to, { ...QUICK, signal: stop.signal, onProgress });
          await expect(move, step).rejects.toThrow();
        };
        await interrupt();
        await compare(other);
        if (step === 'removing')
          await expect(placementOf(other)!.undoMove(TENANT)).rejects.toMatchObject({ code: 'CONFLICT' });
        else {
          await placementOf(other)!.undoMove(TENANT);
          expect((await placementOf(store)!.list()).items[0]).toEqual({ tenantId: TENANT, server: from });
          await compare(other);
          await interrupt();
        }
        await store.forTenant(TENANT).kv.put('between', { step });
        await placementOf(other)!.move(TENANT, to, QUICK);
        expect((await placementOf(store)!.list()).items[0]).toEqual({ tenantId: TENANT, server: to });
        expect(textOf((await other.forTenant(TENANT).kv.get('between'))?.fields.step)).toBe(step);
        await compare(store);
        [from, to] = [to, from];
      }
    },
    SLOW_MS,
  );

  it(
    'is made by one process at a time',
    async () => {
      const { store, open } = await placed();
      const other = await open();
      const compare = await fill(store);
      const moves = [store, other].map((it) => placementOf(it)!.move(TENANT, 'north', QUICK));
      const outcomes = await Promise.allSettled([...moves, placementOf(other)!.move(TENANT, 'south', QUICK)]);
      const moved = outcomes.filter(({ status }) => status === 'fulfilled');
      expect(moved).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'CONFLICT' });
      await compare(store);
      await compare(other);
    },
    SLOW_MS,
  );

  it(
    'keeps watches going, with what was deleted and put meanwhile',
    async () => {
      const { store, open } = await placed();
      const other = await open();
      const view = store.forTenant(TENANT);
      for (const key of ['a', 'b']) await view.kv.put(key, { is: 'first' });
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { key, type } of view.kv.watch('', { signal: stop.signal })) seen.push(`${type} ${key}`);
      })();
      await view.kv.put('c', { is: 'seen' });
      const change = () =>
        Promise.all([other.forTenant(TENANT).kv.delete('a'), other.forTenant(TENANT).kv.put('d', { is: 'new' })]);
      const onProgress = ({ step }: MoveProgress) => void (step === 'removing' && change());
      await placementOf(other)!.move(TENANT, 'north', { keepOldMs: 3_000, onProgress });
      await expect.poll(() => seen.toSorted(), { timeout: 20_000 }).toEqual(['delete a', 'put c', 'put d']);
      await view.kv.put('e', { is: 'after' });
      await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe('put e');
      stop.abort();
      await watching;
    },
    SLOW_MS,
  );
});
