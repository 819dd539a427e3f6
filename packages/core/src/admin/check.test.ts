/** Pages of `admin.check` reach every value; made-up cursors reach neither another tenant nor the engine. */
import { expect, it, vi } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
import { Payloads } from '../codec/payloads.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';

async function filledStore() {
  const store = memoryStore();
  for (const tenantId of ['mine', 'theirs']) await store.forTenant(tenantId).kv.put('key', { name: tenantId });
  return store;
}

it('refuses a cursor of another tenant in a view', async () => {
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
/** Runs, records, bindings and artifacts have checksums of their own. */
const DOCUMENTS = 8 * 3;

it('reads every value of every part however small its pages are', async () => {
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
