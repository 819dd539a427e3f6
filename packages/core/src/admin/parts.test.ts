/** Administration of a store that lacks some parts: it never calls the parts it lacks. */
import { expect, it } from 'vitest';
import type { TenancyEngine } from '../engine/tenancy.ts';
import { memoryRecords } from '../memory/records.ts';
import { assembleStore } from '../store.ts';
import { StoreContext } from '../tools/context.ts';

/** Returns a store that has only records, and the calls that reached its tenancy engine. */
function recordsOnly() {
  const context = new StoreContext();
  const called: string[] = [];
  const tenancy = new Proxy({} as TenancyEngine, {
    get: (_, name) => async (part: unknown) => {
      called.push(`${String(name)} ${String(part)}`);
      return name === 'erase' ? 0 : [];
    },
  });
  const store = assembleStore(context, {
    backend: 'test',
    version: '0',
    can: {},
    durability: () => 'none',
    kv: memoryRecords(context),
    tenancy,
    ping: async () => {},
    doctor: async () => ({ durability: 'none', findings: [] }),
    close: async () => {},
  });
  return { store, called };
}

it('erases a session without calling parts that are missing', async () => {
  const { store, called } = recordsOnly();
  expect(await store.admin.eraseSession('s')).toMatchObject({ sessionId: 's', removed: {} });
  expect(called).toEqual([]);
});

it('lists no removed runs without runs, and no traces without agents', async () => {
  const { store, called } = recordsOnly();
  expect(await store.admin.listRemovedRuns()).toEqual({ items: [] });
  expect((await store.admin.listAllTraces()).items).toEqual([]);
  expect(called).toEqual([]);
});

it('lists tenants from the parts it has', async () => {
  const { store, called } = recordsOnly();
  await store.admin.listTenants();
  expect(called).toEqual(['tenants kv']);
});
