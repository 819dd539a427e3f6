/** Pages of `admin.check` reach every value; forged cursors reach neither another tenant nor the engine. */
import { expect, it, vi } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
import { Payloads } from '../codec/payloads.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';
import { withRecords, withRuns } from '../store.ts';

async function filledStore() {
  const store = memoryStore();
  for (const tenantId of ['mine', 'theirs']) await store.forTenant(tenantId).kv.put('key', { name: tenantId });
  return store;
}

it('rejects a cursor of another tenant in a view', async () => {
  const store = await filledStore();
  const cursor = encodeCursor(['theirs', 'kv', null]);
  await expect(store.forTenant('mine').admin.check({ cursor })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    field: 'cursor',
  });
  expect((await store.forTenant('theirs').admin.check({ cursor })).checked).toBe(1);
  expect((await store.admin.check({ cursor })).checked).toBe(1);
});

it.each([
  ['a number as its key', ['mine', 'kv', 7]],
  ['an object as its key', ['mine', 'kv', {}]],
  ['no key', ['mine', 'kv']],
  ['an unknown part', ['mine', 'secrets', null]],
  ['a fourth value', ['mine', 'kv', null, 1]],
])('refuses a cursor with %s', async (_, values) => {
  const store = await filledStore();
  await expect(store.admin.check({ cursor: encodeCursor(values as unknown[]) })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

const AT = '2026-02-16T09:30:00.000Z';

/** Stores three values of every part. */
async function fillParts() {
  const store = memoryStore();
  const { runs, kv, agents, artifacts } = store.forTenant('mine');
  for (const n of ['1', '2', '3']) {
    const [sessionId, traceId] = [`session-${n}`, `trace-${n}`];
    const ofTask = { sessionId, taskId: 't', createdAt: AT } as const;
    await runs.handle(`run-${n}`).append('Progress', { n });
    await kv.put(`key-${n}`, { n });
    await agents.saveMemoryState(`memory-${n}`, { n });
    await agents.savePlannerState(`token-${n}`, { n });
    await agents.saveTask({
      ...{ ...ofTask, status: 'RUNNING', taskType: 'FOREGROUND', priority: 0, contextSnapshot: {}, updatedAt: AT },
    });
    await agents.saveUpdate({ ...ofTask, updateId: `u${n}`, updateType: 'PROGRESS', content: { n } });
    await agents.saveSteering({
      ...ofTask,
      eventId: `e${n}`,
      eventType: 'USER_MESSAGE',
      payload: { n },
      source: 'user',
    });
    await agents.saveTrajectory(traceId, sessionId, { n });
    await agents.saveEvent({ traceId, ts: 1, kind: 'node_start', nodeName: null, nodeId: null, payload: { n } });
    await agents.savePlannerEvent(traceId, { eventType: 'step_complete', ts: 1, trajectoryStep: 1 });
    await artifacts.putText(`text ${n}`, { scope: { sessionId } });
  }
  return store;
}

const NO_EVENTS = { events: [], lead: [], before: null };

/** Checks a store to its end, in pages of `limit`. */
async function checkAll(store: Store, limit = 1_000) {
  const total = { checked: 0, unsummed: 0, damaged: [] as string[] };
  for (let cursor: string | undefined; ; ) {
    const page = await store.admin.check({ limit, cursor });
    total.checked += page.checked;
    total.unsummed += page.unsummed;
    total.damaged.push(...page.damaged.map(({ part, name }) => `${part} ${name}`));
    cursor = page.next;
    if (cursor === undefined) return total;
  }
}

/** The bindings of each trace are checked too, even if there are none. */
const ALL = 12 * 3;
/** Runs, records, bindings and artifacts have their own checksums. */
const DOCUMENTS = 8 * 3;

it('reads every value of every part even with tiny pages', async () => {
  const store = await fillParts();
  for (const limit of [1, 2, 3, 1_000])
    expect(await checkAll(store, limit), `pages of ${limit}`).toEqual({ checked: ALL, unsummed: 0, damaged: [] });
});

it('counts documents that were stored without a checksum', async () => {
  const encode = vi.spyOn(Payloads.prototype, 'encode').mockImplementation((text) => text);
  const store = await fillParts();
  encode.mockRestore();
  expect(await checkAll(store)).toEqual({ checked: ALL, unsummed: DOCUMENTS, damaged: [] });
});

it('names every document that does not match its checksum', async () => {
  const wrongSum = `\n${' '.repeat(16)}`;
  const encode = vi.spyOn(Payloads.prototype, 'encode').mockImplementation((text) => text + wrongSum);
  const store = await fillParts();
  encode.mockRestore();
  const { damaged } = await checkAll(store);
  expect(damaged.map((it) => it.replace(/[0-9a-f]{64}/, 'HASH'))).toEqual([
    ...['1', '2', '3'].map((n) => `memory memory-${n}`),
    ...['1', '2', '3'].map(() => 'pauses HASH'),
    ...['1', '2', '3'].flatMap((n) =>
      ['', ` / u${n}`, ` / e${n}`, ` / trace-${n}`].map((it) => `sessions session-${n}${it}`),
    ),
    ...['1', '2', '3'].flatMap((n) => [`traces trace-${n} / f:HASH`, `traces trace-${n}`]),
  ]);
});

it('confines a view without a cursor to its own tenant, to the end', async () => {
  const store = await filledStore();
  await store.forTenant('theirs').kv.put('second', { n: '2' });
  expect(await checkAll(store.forTenant('mine'))).toMatchObject({ checked: 1 });
  expect(await checkAll(store.forTenant('theirs'))).toMatchObject({ checked: 2 });
  expect(await checkAll(store)).toMatchObject({ checked: 3 });
});

it('reads one page for each part that fits into a page', async () => {
  const store = (await fillParts()).forTenant('mine');
  let pages = 0;
  for (let cursor: string | undefined; ; pages++) {
    const page = await store.admin.check({ limit: 1_000, cursor });
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(pages).toBe(6);
});

it('passes over values that it lacks the key for, and stops where the store cannot be read', async () => {
  const store = await fillParts();
  const failing = (code: 'CODEC_FAILED' | 'UNAVAILABLE' | 'CORRUPT_VALUE') =>
    vi.spyOn(Payloads.prototype, 'check').mockImplementation(() => {
      throw new TidemarkError(code, 'no luck');
    });
  const check = failing('CODEC_FAILED');
  expect(await checkAll(store)).toEqual({ checked: ALL, unsummed: 0, damaged: [] });
  failing('CORRUPT_VALUE');
  expect((await checkAll(store)).damaged).toHaveLength(DOCUMENTS);
  failing('UNAVAILABLE');
  await expect(checkAll(store)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  check.mockRestore();
});

it('reports a run that is listed and cannot be found, unless it has been removed since', async () => {
  const store = await fillParts();
  const lacking = (runId: string) =>
    withRuns(store, (runs) => ({
      head: async (run, call) => (run.runId === runId ? null : runs.head(run, call)),
      fetch: async (run, ...rest) => (run.runId === runId ? NO_EVENTS : runs.fetch(run, ...rest)),
    }))!;
  const { damaged } = await lacking('run-2').forTenant('mine').admin.check();
  expect(damaged).toEqual([
    { tenantId: 'mine', part: 'runs', name: 'run-2', reason: 'it is listed and cannot be found' },
  ]);

  let isGone = false;
  const removing = withRuns(store, (runs) => ({
    head: async (run, call) => {
      if (run.runId !== 'run-2') return runs.head(run, call);
      isGone = true;
      return null;
    },
    fetch: async (run, ...rest) => (run.runId === 'run-2' ? NO_EVENTS : runs.fetch(run, ...rest)),
    list: async (...args) => (await runs.list(...args)).filter(({ runId }) => !isGone || runId !== 'run-2'),
  }))!;
  expect((await removing.forTenant('mine').admin.check()).damaged).toEqual([]);
  expect(isGone).toBe(true);
});

it('fails when a run cannot be read, and names a run that is damaged', async () => {
  const store = await fillParts();
  const failing = (code: 'UNAVAILABLE' | 'STORAGE_ERROR') =>
    withRuns(store, () => ({
      fetch: async () => {
        throw new TidemarkError(code, 'no luck');
      },
    }))!.forTenant('mine');
  await expect(failing('UNAVAILABLE').admin.check()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect((await failing('STORAGE_ERROR').admin.check()).damaged).toMatchObject([
    { name: 'run-1', reason: 'no luck' },
    { name: 'run-2' },
    { name: 'run-3' },
  ]);
});

it('counts records without a checksum and names damaged ones once', async () => {
  const store = await fillParts();
  const ranges: unknown[] = [];
  const marked = withRecords(store, (records) => ({
    scan: async (...args) =>
      (await records.scan(...args)).map((it) => ({
        ...it,
        ...(it.key === 'key-1' ? { damaged: true } : { unsummed: true }),
      })),
    damagedFields: async (_, range) => {
      ranges.push(range);
      return ['key-1', 'key-3'];
    },
  }))!;
  const at = (after: string | null) => encodeCursor(['mine', 'kv', after]);
  expect(await marked.admin.check({ cursor: at(null) })).toMatchObject({
    checked: 3,
    unsummed: 2,
    damaged: [
      { part: 'kv', name: 'key-1', reason: 'The record does not match its checksum' },
      { part: 'kv', name: 'key-3', reason: 'A field of the record does not match its checksum' },
    ],
  });
  // Nothing follows the last record, so that no field can be damaged there.
  expect(await marked.admin.check({ cursor: at('key-3') })).toMatchObject({ checked: 0, damaged: [] });
  expect(ranges).toEqual([{ after: null, to: 'key-3' }]);
});
