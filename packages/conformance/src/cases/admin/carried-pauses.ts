/** Pauses carried from one place to another by an operator, who never learns their tokens (AGT-4). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, pausePayload } from '../agents/samples.ts';

const pauseCase = casesOf('general', 'admin', 'pauses');

export const CARRIED_PAUSE_CASES: readonly ConformanceCase[] = [
  pauseCase({
    id: 'general/admin-carries-pauses',
    title: 'a pause read in one place waits in another for the same token, until the same time, and once',
    proves: ['AGT-4'],
    async run({ store, tenant, id }) {
      const [token, payload] = [id('token'), pausePayload()];
      await tenant.agents.savePlannerState(token, payload, { ttl: '10m', sessionId: 's', taskId: 't' });
      const [listed] = (await tenant.agents.listPauses()).items;
      const read = (await tenant.admin.readPause(listed!.pauseId))!;
      const elsewhere = store.forTenant(id('tenant'));
      expectEqual(await elsewhere.admin.putPause(read), true, 'it waits there');
      expectEqual(await elsewhere.admin.putPause(read), true, 'put again, it still waits');
      const put = (await elsewhere.admin.readPause(read.pauseId))!;
      expectEqual([put.payload, put.sessionId, put.taskId], [payload, 's', 't'], 'it holds the same');
      const drift = Math.abs(Date.parse(put.expiresAt) - Date.parse(read.expiresAt));
      expect(drift < 5_000, 'it ends at the same time');
      expectEqual(await elsewhere.agents.loadPlannerState(token), payload, 'the token that nobody was told resumes it');
      expectEqual(await elsewhere.admin.putPause(read), false, 'what was consumed there does not wait again');
      expectEqual(await elsewhere.agents.loadPlannerState(token), {}, 'nor can it be resumed twice');
      expectEqual(await tenant.agents.loadPlannerState(token), payload, 'the place it came from is as it was');
    },
  }),
  pauseCase({
    id: 'general/admin-carries-consumed-pauses',
    title: 'a pause that was consumed elsewhere is consumed here too, whether it waited here or never was',
    proves: ['AGT-4', 'COPY-1'],
    async run({ store, tenant, id }) {
      const [token, payload] = [id('token'), pausePayload()];
      await tenant.agents.savePlannerState(token, payload, { ttl: '10m' });
      const [waiting] = (await tenant.agents.listPauses()).items;
      const read = (await tenant.admin.readPause(waiting!.pauseId))!;
      await tenant.agents.loadPlannerState(token);
      const [consumed] = (await tenant.agents.listPauses()).items;
      expectEqual(consumed!.state, 'consumed', 'a consumed pause is listed until it would have expired');
      const carried = { ...consumed!, state: 'consumed' as const };
      const [known, unknown] = [store.forTenant(id('tenant')), store.forTenant(id('tenant'))];
      await known.admin.putPause(read);
      for (const elsewhere of [known, unknown]) {
        expectEqual(await elsewhere.admin.putPause(carried), true, 'it is consumed there');
        expectEqual(await elsewhere.admin.putPause(carried), true, 'carried again, it still is');
        expectEqual(await elsewhere.admin.putPause(read), false, 'and does not wait again');
        expectEqual(await elsewhere.agents.loadPlannerState(token), {}, 'its token resumes nothing');
        expectEqual(await elsewhere.agents.claimPause(token), null, 'nor can it be claimed');
        await expectCode('TOKEN_CONSUMED', 'nor saved again', () => elsewhere.agents.savePlannerState(token, payload));
      }
      const other = store.forTenant(id('tenant'));
      await other.admin.putPause(read);
      await other.agents.claimPause(token);
      expectEqual(await other.admin.putPause(carried), false, 'a claim is not taken from its holder');
    },
  }),
  pauseCase({
    id: 'general/admin-carries-no-dead-pauses',
    title: 'a pause whose time is over is not brought back, and what is no pause is refused',
    proves: ['AGT-4', 'GEN-1'],
    async run({ tenant, id }) {
      await tenant.agents.savePlannerState(id('token'), pausePayload());
      const [listed] = (await tenant.agents.listPauses()).items;
      const read = (await tenant.admin.readPause(listed!.pauseId))!;
      const over = { ...read, pauseId: 'a'.repeat(64), expiresAt: '2020-01-01T00:00:00.000Z' };
      expectEqual(await tenant.admin.putPause(over), false, 'it has expired');
      expectEqual((await tenant.agents.listPauses()).items.length, 1, 'and waits nowhere');
      for (const wrong of [{ pauseId: 'token' }, { expiresAt: 'soon' }])
        await expectCode('INVALID_ARGUMENT', JSON.stringify(wrong), () => tenant.admin.putPause({ ...read, ...wrong }));
      await expectCode('INVALID_PAYLOAD', 'a list is no payload', () =>
        tenant.admin.putPause({ ...read, payload: [] }),
      );
    },
  }),
];
