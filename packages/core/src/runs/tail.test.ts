/** Tails that start before their run exists. */
import { expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';

it.each([undefined, 'acme'])('waits for a run that nobody has created yet (tenant: %s)', async (tenantId) => {
  const store = memoryStore();
  const tail = store.runs.tail('r', { tenantId })[Symbol.asyncIterator]();
  const first = tail.next();
  await new Promise((done) => setTimeout(done, 10));
  await store.forTenant('acme').runs.handle('r').append('RunStarted');
  expect((await first).value).toMatchObject({ tenantId: 'acme', runId: 'r', runSeq: 1 });
  await tail.return?.();
});
