/** Data of agents after the store is opened again: it is still stored, and used tokens stay used. */
import { expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { CARRIERS } from './carriers.ts';
import { casesOf, flowEvent, inOrder, memoryState, pausePayload, update } from './samples.ts';

export const REOPEN_CASES: ConformanceCase[] = [
  ...CARRIERS.map((carrier) =>
    casesOf(
      'agents',
      'reopen',
      carrier.capability,
    )({
      id: `agents/reopen/${carrier.name}-is-still-there`,
      title: `A ${carrier.name} is still stored when the store is opened again`,
      proves: ['GEN-6', carrier.clause],
      closesStore: true,
      async run(bench) {
        const id = bench.id();
        await carrier.save(bench.tenant.agents, id, { text: 'kept' });
        const { agents } = (await bench.reopen()).forTenant(bench.tenantId);
        expectEqual<unknown>(await carrier.load(agents, id), { text: 'kept' }, 'acknowledged data is still stored');
      },
    }),
  ),

  casesOf(
    'agents',
    'reopen',
    'pauses',
  )({
    id: 'agents/reopen/used-tokens-stay-used',
    title: 'A used token stays used when the store is opened again',
    proves: ['AGT-4'],
    closesStore: true,
    async run(bench) {
      const token = bench.id('token');
      const requestId = bench.id('request');
      await bench.tenant.agents.savePlannerState(token, pausePayload());
      await bench.tenant.agents.loadPlannerState(token, { requestId });
      const { agents } = (await bench.reopen()).forTenant(bench.tenantId);
      expectEqual(await agents.loadPlannerState(token), {}, 'a used token returns {}');
      await expectCode('TOKEN_CONSUMED', 'a used token cannot be saved again', () =>
        agents.savePlannerState(token, pausePayload()),
      );
      expectEqual(
        await agents.loadPlannerState(token, { requestId }),
        pausePayload(),
        'the retried load still returns the payload',
      );
    },
  }),

  casesOf(
    'agents',
    'reopen',
    'updates',
    'events',
    'memory',
  )({
    id: 'agents/reopen/order-and-idempotency-go-on',
    title: 'Order, ids and versions continue after the store is opened again',
    proves: ['AGT-2', 'AGT-5', 'AGT-7'],
    closesStore: true,
    async run(bench) {
      const [sessionId, traceId, key] = [bench.id('session'), bench.id('trace'), bench.id('key')];
      await inOrder(['u1', 'u2'], (id) => bench.tenant.agents.saveUpdate(update(sessionId, id)));
      await bench.tenant.agents.saveEvent(flowEvent(traceId));
      await bench.tenant.agents.saveMemoryState(key, memoryState());
      const { agents } = (await bench.reopen()).forTenant(bench.tenantId);
      await inOrder(['u3', 'u1'], (id) => agents.saveUpdate(update(sessionId, id)));
      await agents.saveEvent(flowEvent(traceId));
      const ids = (await agents.listUpdates(sessionId, { sinceId: 'u1' })).map((item) => item.updateId);
      expectEqual(ids, ['u2', 'u3'], 'a cursor from before the reopening works, and ids are known');
      expectEqual((await agents.loadHistory(traceId)).length, 1, 'a retry after reopening is stored once');
      expectEqual((await agents.saveMemoryState(key, {})).version, 2, 'versions continue');
    },
  }),
];
