/** Calls on a pause, or with a claim on it, after it was used or has expired (AGT-4, GEN-8). */
import type { AgentStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { exactStopwatch, stopwatch } from '../stopwatch.ts';
import { casesOf, pausePayload, peerAgents } from './samples.ts';

const pauses = casesOf('agents', 'pauses');

const TTL = 300;
const LEASE = 200;

/** Expects that the pause can be neither loaded nor claimed, nor settled by any of these claims. */
async function expectOver(agents: AgentStore, token: string, claims: readonly string[], when: string): Promise<void> {
  expectEqual(await agents.loadPlannerState(token), {}, `${when} it is {} to a loader`);
  expectEqual(await agents.claimPause(token), null, `${when} it cannot be claimed`);
  for (const claimId of claims) {
    expectEqual(await agents.claimPause(token, { requestId: claimId }), null, `${when} a lease is not granted again`);
    await expectCode('CLAIM_LOST', `${when} it cannot be released`, () => agents.releasePause(token, claimId));
  }
}

export const PAUSE_ENDING_CASES = [
  pauses({
    id: 'agents/pauses/nothing-after-a-confirmation',
    title: 'A confirmed pause cannot be released, claimed or loaded by anyone',
    proves: ['AGT-4'],
    async run(bench) {
      const [{ agents }, peer] = [bench.tenant, await peerAgents(bench)];
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      const before = await agents.claimPause(token, { requestId: 'before' });
      await agents.releasePause(token, before!.claimId);
      const claim = await agents.claimPause(token, { requestId: 'claim' });
      await agents.confirmPause(token, claim!.claimId);
      for (const client of [agents, peer]) {
        await expectOver(client, token, ['before', 'claim', 'other'], 'once confirmed');
        await client.confirmPause(token, 'claim');
        for (const claimId of ['before', 'other']) {
          await expectCode('CLAIM_LOST', 'another claim does not confirm it', () =>
            client.confirmPause(token, claimId),
          );
        }
      }
      expectEqual((await agents.peekPause(token))?.state, 'consumed', 'the pause stays consumed');
    },
  }),

  pauses({
    id: 'agents/pauses/nothing-after-a-load',
    title: 'A loaded pause cannot be claimed, confirmed by another claim or released',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      const { claimId } = (await agents.claimPause(token))!;
      await agents.releasePause(token, claimId);
      await agents.loadPlannerState(token, { requestId: 'load' });
      await expectOver(agents, token, [claimId, 'load'], 'once loaded');
      await expectCode('CLAIM_LOST', 'a claim from before does not confirm it', () =>
        agents.confirmPause(token, claimId),
      );
      expectEqual(
        await agents.loadPlannerState(token, { requestId: 'load' }),
        pausePayload(),
        'the retried load returns the payload',
      );
    },
  }),

  pauses({
    id: 'agents/pauses/nothing-after-expiry',
    title: 'A claim on an expired pause can be neither confirmed nor released',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload(), { ttl: TTL });
      const claim = await agents.claimPause(token, { lease: '1h' });
      const info = await agents.peekPause(token);
      // On a slow machine the pause may have expired before it was claimed.
      if (!claim) return;
      expect(!info || claim.leaseUntil === info.expiresAt, 'a lease ends with its pause at the latest');
      await bench.pass(TTL);
      await expectOver(agents, token, [claim.claimId], 'once expired');
      await expectCode('CLAIM_LOST', 'once expired it cannot be confirmed', () =>
        agents.confirmPause(token, claim.claimId),
      );
    },
  }),

  pauses({
    id: 'agents/pauses/retried-after-expiry',
    title: 'A load or confirmation retried after the pause expired returns its first result',
    proves: ['GEN-8', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [loaded, confirmed] = [bench.id('loaded'), bench.id('confirmed')];
      const isFresh = stopwatch(TTL);
      for (const token of [loaded, confirmed]) await agents.savePlannerState(token, pausePayload(), { ttl: TTL });
      const first = await agents.loadPlannerState(loaded, { requestId: 'load' });
      const claim = await agents.claimPause(confirmed, { requestId: 'claim' });
      // On a slow machine both may have expired before they were used; the confirmation then fails.
      if (!isFresh()) return;
      if (claim)
        await agents.confirmPause(confirmed, claim.claimId).catch((error: unknown) => {
          if (isFresh()) throw error;
        });
      if (!isFresh()) return;
      expectEqual([first, claim?.payload], [pausePayload(), pausePayload()], 'both are used in time');
      await bench.pass(TTL);
      expectEqual(
        await agents.loadPlannerState(loaded, { requestId: 'load' }),
        pausePayload(),
        'the retried load returns the payload again',
      );
      expectEqual(await agents.loadPlannerState(loaded, { requestId: 'other' }), {}, 'another load gets nothing');
      await agents.confirmPause(confirmed, 'claim');
      await expectOver(agents, confirmed, ['claim'], 'once expired');
      expectEqual((await agents.listPauses()).items, [], 'neither pause is listed');
      expectEqual(await agents.peekPause(loaded), null, 'neither pause can be peeked at');
    },
  }),

  pauses({
    id: 'agents/pauses/leased-to-the-millisecond',
    title: 'A lease is valid until its last millisecond; another worker may claim from then on',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      const isHeld = await exactStopwatch(bench, LEASE);
      const first = await agents.claimPause(token, { lease: LEASE });
      await bench.pass(LEASE - 1);
      const early = await agents.claimPause(token, { lease: LEASE });
      if (await isHeld()) expectEqual(early, null, 'a millisecond before its end the lease is valid');
      if (early) return;
      await bench.pass(1);
      expectEqual((await agents.peekPause(token))?.state, 'waiting', 'at its end the pause waits again');
      expect(await agents.claimPause(token, { lease: LEASE }), 'another worker may claim the pause');
      await expectCode('CLAIM_LOST', 'the first claimer has lost the pause', () =>
        agents.confirmPause(token, first!.claimId),
      );
    },
  }),
];
