/** Cursors of `admin.check`: made up ones reach neither another tenant nor the engine. */
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
