/** Lists of artifacts of all tenants: what a reference shows, which references are omitted, and invalid cursors. */
import { expect, it, vi } from 'vitest';
import { corruptValue } from '../checks/damage.ts';
import { encodeCursor } from '../checks/json.ts';
import { Payloads } from '../codec/payloads.ts';
import { memoryStore } from '../memory/store.ts';

const LIST = 'stored artifacts';

async function filledStore() {
  const time = { now: Date.parse('2026-02-16T09:30:00.000Z') };
  const store = memoryStore({ clock: () => time.now, monotonic: () => time.now });
  await store.forTenant('mine').artifacts.putText('kept', { ttl: null });
  await store.forTenant('mine').artifacts.putText('short', { ttl: '1m' });
  await store.forTenant('theirs').artifacts.putText('other', { ttl: null });
  return { store, time };
}

it('shows when a reference expires, and leaves it out from then on', async () => {
  const { store, time } = await filledStore();
  const expiries = async () => (await store.admin.listArtifacts()).items.map(({ expiresAt }) => expiresAt);
  expect((await expiries()).toSorted()).toEqual(['2026-02-16T09:31:00.000Z', null, null]);
  time.now += 59_999;
  expect(await expiries()).toHaveLength(3);
  time.now += 1;
  expect(await expiries()).toEqual([null, null]);
});

it('names damaged references and leaves them out', async () => {
  const { store } = await filledStore();
  const check = vi.spyOn(Payloads.prototype, 'check').mockImplementationOnce(() => {
    throw corruptValue('reference', 'x');
  });
  const page = await store.admin.listArtifacts();
  check.mockRestore();
  expect(page.items.map(({ tenantId }) => tenantId)).toEqual(['mine', 'theirs']);
  expect(page.damaged).toEqual(['mine / x']);
});

it.each([
  ['another list', ['artifact totals', 'mine', null]],
  ['an additional value', [LIST, 'mine', null, null]],
  ['a missing value', [LIST, 'mine']],
  ['a number as tenant', [LIST, 7, null]],
  ['a number as id', [LIST, 'mine', 7]],
])('refuses a cursor with %s', async (_, values) => {
  const { store } = await filledStore();
  const refusal = { code: 'INVALID_ARGUMENT', field: 'cursor' };
  await expect(store.admin.listArtifacts({ cursor: encodeCursor(values as unknown[]) })).rejects.toMatchObject(refusal);
});

it('continues at a tenant and after a reference, in a view only at its own', async () => {
  const { store } = await filledStore();
  const [first, second] = (await store.forTenant('mine').admin.listArtifacts()).items;
  const after = (tenantId: string, id: string | null) => ({ cursor: encodeCursor([LIST, tenantId, id]) });
  const ids = async (options: object) => (await store.admin.listArtifacts(options)).items.map(({ id }) => id);
  expect(await ids(after('mine', first!.id))).toEqual([second!.id, expect.any(String)]);
  expect(await ids(after('theirs', null))).toHaveLength(1);
  expect((await store.forTenant('mine').admin.listArtifacts(after('mine', first!.id))).items).toHaveLength(1);
  await expect(store.forTenant('mine').admin.listArtifacts(after('theirs', null))).rejects.toMatchObject({
    field: 'cursor',
  });
});
