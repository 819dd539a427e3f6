/** Claiming a pause: leased for a while, then confirmed or released, so that a crash loses nothing (AGT-4). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench } from '../../kit.ts';
import { casesOf, pausePayload, peerAgents } from './samples.ts';

const claims = casesOf('agents', 'pauses');

const LEASE = 400;

async function paused(bench: Bench): Promise<string> {
  const token = bench.id('token');
  await bench.tenant.agents.savePlannerState(token, pausePayload());
  return token;
}

async function claimed(bench: Bench, token: string, lease?: number) {
  const claim = await bench.tenant.agents.claimPause(token, lease === undefined ? {} : { lease });
  expect(claim, 'a waiting pause can be claimed');
  return claim;
}

export const PAUSE_CLAIM_CASES = [
  claims({
    id: 'agents/pauses/claimed-then-confirmed',
    title: 'A claimed pause is consumed when it is confirmed',
    proves: ['AGT-4', '000 load_planner_state'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = await paused(bench);
      const claim = await claimed(bench, token);
      expectEqual(claim.payload, pausePayload(), 'the claim carries the payload');
      const info = await agents.peekPause(token);
      expectEqual(info?.state, 'claimed', 'the pause is shown as claimed');
      expectEqual(info?.leaseUntil, claim.leaseUntil, 'the pause shows the end of its lease');
      await agents.confirmPause(token, claim.claimId);
      expectEqual((await agents.peekPause(token))?.state, 'consumed', 'confirming consumes it');
      expectEqual(await agents.loadPlannerState(token), {}, 'there is nothing left to load');
      expectEqual(await agents.claimPause(token), null, 'there is nothing left to claim');
      await expectCode('TOKEN_CONSUMED', 'a consumed token cannot be saved again', () =>
        agents.savePlannerState(token, pausePayload()),
      );
    },
  }),

  claims({
    id: 'agents/pauses/confirmed-again-is-the-same',
    title: 'A retried confirmation returns the same result',
    proves: ['GEN-8', 'AGT-4'],
    async run(bench) {
      const token = await paused(bench);
      const { claimId } = await claimed(bench, token);
      await bench.tenant.agents.confirmPause(token, claimId);
      await bench.tenant.agents.confirmPause(token, claimId);
      expectEqual((await bench.tenant.agents.peekPause(token))?.state, 'consumed', 'the pause is consumed');
    },
  }),

  claims({
    id: 'agents/pauses/one-claimer-wins',
    title: 'Of concurrent claimers exactly one gets the pause',
    proves: ['000 consistency', 'AGT-4'],
    async run(bench) {
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const token = await paused(bench);
      const all = await Promise.all(Array.from({ length: 20 }, (_, n) => clients[n % 2]!.claimPause(token)));
      expectEqual(all.filter((claim) => claim !== null).length, 1, 'exactly one of 20 claimers wins');
    },
  }),

  claims({
    id: 'agents/pauses/loaders-and-claimers-are-rivals',
    title: 'Of concurrent loaders and claimers exactly one gets the pause',
    proves: ['000 consistency', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (let round = 0; round < 5; round++) {
        const token = await paused(bench);
        const [claimers, loaders] = await Promise.all([
          Promise.all(Array.from({ length: 5 }, () => agents.claimPause(token))),
          Promise.all(Array.from({ length: 5 }, () => agents.loadPlannerState(token))),
        ]);
        const won =
          claimers.filter((claim) => claim !== null).length + loaders.filter((load) => 'reason' in load).length;
        expectEqual(won, 1, 'the pause goes to either a claimer or a loader');
      }
    },
  }),

  claims({
    id: 'agents/pauses/claimed-is-not-loaded',
    title: 'A claimed pause cannot be loaded, and its claim stays valid',
    proves: ['AGT-4'],
    async run(bench) {
      const token = await paused(bench);
      const { claimId } = await claimed(bench, token);
      expectEqual(await bench.tenant.agents.loadPlannerState(token), {}, 'a claimed pause is {} to a loader');
      expectEqual((await bench.tenant.agents.peekPause(token))?.state, 'claimed', 'the pause stays claimed');
      await bench.tenant.agents.confirmPause(token, claimId);
    },
  }),

  claims({
    id: 'agents/pauses/released-is-claimed-again',
    title: 'A released pause can be claimed again',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = await paused(bench);
      const first = await claimed(bench, token);
      await agents.releasePause(token, first.claimId);
      const info = await agents.peekPause(token);
      expectEqual(info?.state, 'waiting', 'a released pause waits again');
      expectEqual(info?.leaseUntil, undefined, 'a released pause has no lease');
      const second = await claimed(bench, token);
      expectEqual(second.payload, pausePayload(), 'the next claimer gets the whole payload');
      expect(second.claimId !== first.claimId, 'the next claimer gets its own claim id');
      await expectCode('CLAIM_LOST', 'the old claim is no longer valid', () =>
        agents.confirmPause(token, first.claimId),
      );
      await agents.confirmPause(token, second.claimId);
    },
  }),

  claims({
    id: 'agents/pauses/lapsed-lease-goes-to-another',
    title: 'When a lease expires, another worker may claim the pause and the first has lost its claim',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const held = await paused(bench);
      await claimed(bench, held);
      expectEqual(await agents.claimPause(held), null, 'while the lease holds, nobody else can claim');
      const token = await paused(bench);
      const first = await claimed(bench, token, LEASE);
      await bench.pass(LEASE);
      const second = await claimed(bench, token);
      expectEqual(second.payload, pausePayload(), 'the payload survives a crash of the first claimer');
      await expectCode('CLAIM_LOST', 'the first claimer cannot confirm', () =>
        agents.confirmPause(token, first.claimId),
      );
      await expectCode('CLAIM_LOST', 'the first claimer cannot release', () =>
        agents.releasePause(token, first.claimId),
      );
      expectEqual((await agents.peekPause(token))?.state, 'claimed', 'the second claimer still holds the pause');
      await agents.confirmPause(token, second.claimId);
    },
  }),

  claims({
    id: 'agents/pauses/lapsed-lease-can-be-loaded',
    title: 'When a lease expires, the pause can be loaded',
    proves: ['AGT-4'],
    async run(bench) {
      const token = await paused(bench);
      await claimed(bench, token, LEASE);
      await bench.pass(LEASE);
      expectEqual(
        (await bench.tenant.agents.peekPause(token))?.state,
        'waiting',
        'a pause whose lease expired waits again',
      );
      expectEqual(await bench.tenant.agents.loadPlannerState(token), pausePayload(), 'the pause can be loaded');
    },
  }),

  claims({
    id: 'agents/pauses/lease-is-a-minute',
    title: 'A claim lasts for its lease, a minute by default',
    proves: ['AGT-4'],
    async run(bench) {
      for (const [lease, ms] of [
        [undefined, 60_000],
        ['5m', 300_000],
      ] as const) {
        const token = bench.id('token');
        await bench.tenant.agents.savePlannerState(token, pausePayload(), { ttl: '2h' });
        const info = await bench.tenant.agents.peekPause(token);
        const claim = await bench.tenant.agents.claimPause(token, { lease });
        const held = Date.parse(claim!.leaseUntil) - Date.parse(info!.createdAt);
        expect(
          held >= ms && held < ms + 5_000,
          `a lease of ${lease ?? 'no given length'} holds for ${ms} ms, not ${held}`,
        );
      }
    },
  }),

  claims({
    id: 'agents/pauses/retried-claim-hears-again',
    title: 'A claim retried with the same request id returns the same claim',
    proves: ['GEN-8', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = await paused(bench);
      const mine = { requestId: bench.id('request') };
      const first = await agents.claimPause(token, mine);
      const again = await agents.claimPause(token, mine);
      expectEqual(again?.claimId, first?.claimId, 'the retry returns the same claim');
      expectEqual(again?.payload, pausePayload(), 'the retried claim has the payload');
      expectEqual(
        await agents.claimPause(token, { requestId: bench.id('request') }),
        null,
        'another request gets nothing',
      );
      await agents.confirmPause(token, again!.claimId);
    },
  }),

  claims({
    id: 'agents/pauses/foreign-claims-change-nothing',
    title: 'A claim id other than the current one changes nothing',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = await paused(bench);
      for (const settle of [agents.confirmPause, agents.releasePause]) {
        await expectCode('CLAIM_LOST', 'an unknown claim is refused', () => settle.call(agents, token, 'foreign'));
        await expectCode('CLAIM_LOST', 'an unknown token is refused', () =>
          settle.call(agents, bench.id('missing'), 'foreign'),
        );
      }
      expectEqual(await agents.loadPlannerState(token), pausePayload(), 'the pause is unchanged');
    },
  }),
];
