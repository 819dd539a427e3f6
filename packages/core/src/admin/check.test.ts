/** Pages of `admin.check` reach every value; made-up cursors reach neither another tenant nor the engine. */
import { expect, it } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
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

/** Stores three values of every part. */
async function fillParts() {
  const store = memoryStore();
  const { runs, kv, agents, artifacts } = store.forTenant('mine');
  const at = '2026-02-16T09:30:00.000Z';
  for (const n of ['1', '2', '3']) {
    await runs.handle(`run-${n}`).append('Progress', { n });
    await kv.put(`key-${n}`, { n });
    await agents.saveMemoryState(`memory-${n}`, { n });
    await agents.savePlannerState(`token-${n}`, { n });
    const base = { sessionId: `session-${n}`, taskId: 't', createdAt: at } as const;
    await agents.saveUpdate({ ...base, updateId: `u${n}`, updateType: 'PROGRESS', content: { n } });
    await agents.saveEvent({
      traceId: `trace-${n}`,
      ts: 1,
      kind: 'node_start',
      nodeName: null,
      nodeId: null,
      payload: { n },
    });
    await artifacts.putText(`text ${n}`, { scope: { sessionId: `session-${n}` } });
  }
  return store;
}

it('reads every value of every part however small its pages are', async () => {
  const store = await fillParts();
  const count = async (limit: number) => {
    let [checked, pages] = [0, 0];
    for (let cursor: string | undefined; ; pages++) {
      const page = await store.admin.check({ limit, cursor });
      expect(page.damaged).toEqual([]);
      checked += page.checked;
      cursor = page.next;
      if (cursor === undefined) return { checked, pages };
    }
  };
  const whole = await count(1_000);
  expect(whole).toEqual({ checked: 24, pages: 6 });
  for (const limit of [1, 2, 3]) expect((await count(limit)).checked, `pages of ${limit}`).toBe(24);
});
