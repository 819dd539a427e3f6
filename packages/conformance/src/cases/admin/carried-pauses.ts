/** Pauses that an operator reads in one tenant and puts into another, without knowing their tokens (AGT-4). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, pausePayload } from '../agents/samples.ts';

const pauseCase = casesOf('general', 'admin', 'pauses');

export const CARRIED_PAUSE_CASES: readonly ConformanceCase[] = [
  pauseCase({
    id: 'general/admin-carries-pauses',
    title: 'putPause stores a pause from another store under the same token and expiry, and it can be loaded once',
    proves: ['AGT-4'],
    async run({ store, tenant, id }) {
      const [token, payload] = [id('token'), pausePayload()];
      await tenant.agents.savePlannerState(token, payload, { ttl: '10m', sessionId: 's', taskId: 't' });
      const [listed] = (await tenant.agents.listPauses()).items;
      const read = (await tenant.admin.readPause(listed!.pauseId))!;
      const elsewhere = store.forTenant(id('tenant'));
      expectEqual(await elsewhere.admin.putPause(read), true, 'the pause waits in the other tenant');
      expectEqual(await elsewhere.admin.putPause(read), true, 'the pause still waits after it is put again');
      const put = (await elsewhere.admin.readPause(read.pauseId))!;
      expectEqual(
        [put.payload, put.sessionId, put.taskId],
        [payload, 's', 't'],
        'the pause has the same payload, session and task',
      );
      const drift = Math.abs(Date.parse(put.expiresAt) - Date.parse(read.expiresAt));
      expect(drift < 5_000, 'the pause expires at the same time');
      expectEqual(await elsewhere.agents.loadPlannerState(token), payload, 'the original token loads the pause');
      expectEqual(await elsewhere.admin.putPause(read), false, 'a consumed pause is not stored again');
      expectEqual(await elsewhere.agents.loadPlannerState(token), {}, 'a consumed pause cannot be loaded again');
      expectEqual(await tenant.agents.loadPlannerState(token), payload, 'the original pause is unchanged');
    },
  }),
  pauseCase({
    id: 'general/admin-carries-consumed-pauses',
    title: 'putPause of a consumed pause consumes the token here too, whether the pause was waiting or unknown',
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
        expectEqual(await elsewhere.admin.putPause(carried), true, 'the pause is consumed in the other tenant');
        expectEqual(await elsewhere.admin.putPause(carried), true, 'the pause stays consumed when it is put again');
        expectEqual(await elsewhere.admin.putPause(read), false, 'a consumed pause does not wait again');
        expectEqual(await elsewhere.agents.loadPlannerState(token), {}, 'the token loads nothing');
        expectEqual(await elsewhere.agents.claimPause(token), null, 'a consumed pause cannot be claimed');
        await expectCode('TOKEN_CONSUMED', 'a consumed token cannot be saved again', () =>
          elsewhere.agents.savePlannerState(token, payload),
        );
      }
      const other = store.forTenant(id('tenant'));
      await other.admin.putPause(read);
      await other.agents.claimPause(token);
      expectEqual(await other.admin.putPause(carried), false, 'a claim is not taken from its holder');
    },
  }),
  pauseCase({
    id: 'general/admin-carries-no-dead-pauses',
    title: 'putPause does not store an expired pause, and rejects an invalid one',
    proves: ['AGT-4', 'GEN-1'],
    async run({ tenant, id }) {
      await tenant.agents.savePlannerState(id('token'), pausePayload());
      const [listed] = (await tenant.agents.listPauses()).items;
      const read = (await tenant.admin.readPause(listed!.pauseId))!;
      const over = { ...read, pauseId: 'a'.repeat(64), expiresAt: '2020-01-01T00:00:00.000Z' };
      expectEqual(await tenant.admin.putPause(over), false, 'an expired pause is not stored');
      expectEqual((await tenant.agents.listPauses()).items.length, 1, 'no further pause is listed');
      for (const wrong of [{ pauseId: 'token' }, { expiresAt: 'soon' }])
        await expectCode('INVALID_ARGUMENT', JSON.stringify(wrong), () => tenant.admin.putPause({ ...read, ...wrong }));
      await expectCode('INVALID_PAYLOAD', 'an array is not a payload', () =>
        tenant.admin.putPause({ ...read, payload: [] }),
      );
    },
  }),
];
