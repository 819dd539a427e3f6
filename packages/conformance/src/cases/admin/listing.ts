/** Operator reads: tenants, traces, and the payloads of pauses (GEN-10). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { binding, casesOf, flowEvent, pausePayload, plannerEvent } from '../agents/samples.ts';
import { allPages } from '../iterate.ts';

const adminCase = casesOf('general', 'admin');

const MAX_SMALL_PAGES = 30;

export const LISTING_CASES: readonly ConformanceCase[] = [
  adminCase({
    id: 'general/admin-lists-tenants',
    title: 'lists each tenant that has any kind of data once, in byte order',
    proves: ['GEN-10', 'GEN-5'],
    async run({ store, id }) {
      const tenants = ['a', 'a:b', 'a%', 'A', 'ä'].map((name) => id(name));
      await store.forTenant(tenants[0]!).kv.put('k', { a: '1' });
      await store.forTenant(tenants[1]!).kv.put('k', { a: '1' });
      await store.forTenant(tenants[1]!).agents.saveEvent(flowEvent('t'));
      await store.forTenant(tenants[2]!).agents.saveMemoryState('m', {});
      await store.forTenant(tenants[3]!).runs.handle('r').append('RunStarted');
      await store.forTenant(tenants[4]!).agents.savePlannerEvent('t', plannerEvent());
      let pages = 0;
      // A store in use may have thousands of tenants, so after some small pages the rest is read in large ones.
      const limit = () => (pages++ < MAX_SMALL_PAGES ? 3 : 1_000);
      const listed = await allPages((cursor) => store.admin.listTenants({ cursor, limit: limit() }));
      expectEqual(
        listed.filter((tenant) => tenants.includes(tenant)),
        [...tenants].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
        'each tenant is listed once, in order',
      );
      const view = store.forTenant(tenants[0]!);
      expectEqual((await view.admin.listTenants()).items, [tenants[0]!], 'a view lists its own tenant only');
    },
  }),
  adminCase({
    id: 'general/admin-lists-traces',
    title: 'lists each trace of a tenant once, in byte order, and no trace of another tenant',
    proves: ['GEN-10'],
    async run({ store, tenant, tenantId, id }) {
      const traces = ['b', 'a/b', 'a', 'a!', 'c'].map((name) => id(name));
      await tenant.agents.saveEvent(flowEvent(traces[0]!));
      await tenant.agents.saveRemoteBinding(binding(traces[0]!));
      await tenant.agents.saveRemoteBinding(binding(traces[1]!));
      await tenant.agents.saveRemoteBinding(binding(traces[2]!));
      await tenant.agents.savePlannerEvent(traces[3]!, plannerEvent());
      await tenant.agents.saveEvent(flowEvent(traces[4]!));
      await tenant.agents.saveEvent(flowEvent(null));
      await store.forTenant(id('tenant')).agents.saveEvent(flowEvent(id('other')));
      const expected = [...traces].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expectEqual(
        await allPages((cursor) => store.admin.listAllTraces({ tenantId, cursor, limit: 2 })),
        expected,
        'each trace is listed once, in order; events without a trace are not listed',
      );
      expectEqual((await tenant.admin.listAllTraces()).items, expected, 'a view lists its own traces');
    },
  }),
  adminCase({
    id: 'general/admin-reads-pauses',
    title: 'an operator reads the payload of a waiting pause without consuming it; other pauses return null',
    proves: ['AGT-4'],
    async run({ store, tenant, tenantId, id }) {
      const token = id('token');
      const payload = pausePayload();
      await tenant.agents.savePlannerState(token, payload, { sessionId: 's', taskId: 't' });
      const [info] = (await tenant.agents.listPauses()).items;
      const read = await store.admin.readPause(info!.pauseId, { tenantId });
      expectEqual(read, { ...info!, payload }, 'returns the payload and the fields that lists show');
      const claim = await tenant.agents.claimPause(token);
      expectEqual(claim?.payload, payload, 'the token can still be claimed');
      expectEqual(await tenant.admin.readPause(info!.pauseId), null, 'a claimed pause has no payload to read');
      await tenant.agents.confirmPause(token, claim!.claimId);
      expectEqual(await tenant.admin.readPause(info!.pauseId), null, 'a consumed pause has no payload to read');
      expectEqual(await tenant.admin.readPause('0'.repeat(64)), null, 'an unknown pause returns null');
      const elsewhere = store.forTenant(id('tenant'));
      expectEqual(await elsewhere.admin.readPause(info!.pauseId), null, 'another tenant does not have the pause');
      await expectCode('TENANT_MISMATCH', 'a view refuses another tenant', () =>
        elsewhere.admin.readPause(info!.pauseId, { tenantId }),
      );
      expect(claim, 'the pause was claimed');
    },
  }),
];
