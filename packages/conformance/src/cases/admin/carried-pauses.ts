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
