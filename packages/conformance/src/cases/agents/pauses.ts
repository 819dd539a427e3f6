/** Pause tokens: loaded once, gone in the millisecond of their expiry, and never shown (AGT-4). */
import { createHash } from 'node:crypto';
import type { PauseInfo } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { allPages } from '../iterate.ts';
import { stopwatch } from '../stopwatch.ts';
import { casesOf, inOrder, pausePayload, peerAgents } from './samples.ts';

const pauses = casesOf('agents', 'pauses');

const TTL = 600;

/** Returns everything a caller could print of a value or an error. */
function printed(value: unknown): string {
  const error = value instanceof Error ? `${value.message} ${value.stack} ${printed(value.cause)}` : '';
  return `${error} ${JSON.stringify(value)}`;
}

export const PAUSE_CASES = [
  pauses({
    id: 'agents/pauses/loaded-once',
    title: 'A paused plan is returned by the first load, and {} by later ones',
    proves: ['000 save_planner_state', '000 load_planner_state', '000 idempotency', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      expectEqual(await agents.loadPlannerState(token), pausePayload(), 'the first load returns the payload');
      expectEqual(await agents.loadPlannerState(token), {}, 'the second load returns {}');
      expectEqual(await (await peerAgents(bench)).loadPlannerState(token), {}, 'another client gets {} as well');
    },
  }),

  pauses({
    id: 'agents/pauses/missing-is-empty',
    title: 'A missing token returns {}, null or no claim, never an error',
    proves: ['000 load_planner_state', '000 errors', 'AGT-4'],
    async run(bench) {
      const token = bench.id('missing');
      expectEqual(await bench.tenant.agents.loadPlannerState(token), {}, 'loading a missing token returns {}');
      expectEqual(await bench.tenant.agents.peekPause(token), null, 'peeking at a missing token returns null');
      expectEqual(await bench.tenant.agents.claimPause(token), null, 'there is nothing to claim');
    },
  }),

  pauses({
    id: 'agents/pauses/saving-twice-updates',
    title: 'Saving a token again before it is used updates it',
    proves: ['000 save_planner_state', '000 idempotency', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      await agents.savePlannerState(token, pausePayload());
      await agents.savePlannerState(token, pausePayload({ reason: 'later' }), { ttl: '2h' });
      const info = await agents.peekPause(token);
      expectEqual(info?.reason, 'later', 'the last save wins');
      expectEqual(
        await agents.loadPlannerState(token),
        pausePayload({ reason: 'later' }),
        'the last payload is returned',
      );
      expectEqual(await agents.loadPlannerState(token), {}, 'the payload is returned once');
    },
  }),

  pauses({
    id: 'agents/pauses/gone-at-its-millisecond',
    title: 'A pause exists until its expiry and is gone from that millisecond onwards',
    proves: ['000 load_planner_state', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [early, late, seen, claimed] = [bench.id('early'), bench.id('late'), bench.id('seen'), bench.id('claimed')];
      const isFresh = stopwatch(TTL);
      await inOrder([early, late, seen, claimed], (token) =>
        agents.savePlannerState(token, pausePayload(), { ttl: TTL }),
      );
      await bench.pass(TTL / 3);
      const loaded = await agents.loadPlannerState(early);
      if (isFresh()) expectEqual(loaded, pausePayload(), 'before its expiry a pause exists');
      await bench.pass(TTL - TTL / 3);
      expectEqual(await agents.loadPlannerState(late), {}, 'from the millisecond of its expiry on it is {}');
      expectEqual(await agents.peekPause(seen), null, 'an expired pause cannot be peeked at');
      expectEqual(await agents.claimPause(claimed), null, 'an expired pause cannot be claimed');
      expectEqual((await agents.listPauses()).items, [], 'an expired pause is not listed');
    },
  }),

  pauses({
    id: 'agents/pauses/expires-after-an-hour',
    title: 'A pause lives for its ttl, an hour by default',
    proves: ['000 save_planner_state', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const [ttl, ms] of [
        [undefined, 3_600_000],
        ['15m', 900_000],
        [1_234, 1_234],
      ] as const) {
        const token = bench.id('token');
        await agents.savePlannerState(token, pausePayload(), { ttl });
        const info = await agents.peekPause(token);
        expect(info, 'a saved pause can be peeked at');
        expectEqual(
          Date.parse(info.expiresAt) - Date.parse(info.createdAt),
          ms,
          `a pause with ttl ${ttl} lives for ${ms} ms`,
        );
      }
    },
  }),

  pauses({
    id: 'agents/pauses/one-loader-wins',
    title: 'Of concurrent loaders exactly one gets the pause',
    proves: ['000 consistency', '000 load_planner_state', 'AGT-4'],
    async run(bench) {
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      for (let round = 0; round < 5; round++) {
        const token = bench.id('token');
        await bench.tenant.agents.savePlannerState(token, pausePayload());
        const loads = await Promise.all(Array.from({ length: 20 }, (_, n) => clients[n % 2]!.loadPlannerState(token)));
        const won = loads.filter((payload) => Object.keys(payload).length > 0);
        expectEqual(won, [pausePayload()], 'exactly one of 20 loaders gets the payload, the others {}');
      }
    },
  }),

  pauses({
    id: 'agents/pauses/used-tokens-stay-used',
    title: 'A used token cannot be saved again before its expiry',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      await agents.loadPlannerState(token);
      await expectCode('TOKEN_CONSUMED', 'a used token cannot be saved again', () =>
        agents.savePlannerState(token, pausePayload()),
      );
      expectEqual(await agents.loadPlannerState(token), {}, 'nothing was saved under the used token');
      expectEqual(await agents.claimPause(token), null, 'a used token cannot be claimed');
    },
  }),

  pauses({
    id: 'agents/pauses/tokens-are-free-after-expiry',
    title: 'A used token may be saved again after its expiry',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload(), { ttl: TTL });
      await agents.loadPlannerState(token);
      await bench.pass(TTL);
      await agents.savePlannerState(token, pausePayload({ reason: 'anew' }));
      expectEqual(
        await agents.loadPlannerState(token),
        pausePayload({ reason: 'anew' }),
        'an expired token can be saved again',
      );
    },
  }),

  pauses({
    id: 'agents/pauses/retried-load-hears-again',
    title: 'A load retried with the same request id returns the payload again',
    proves: ['GEN-8', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      const mine = { requestId: bench.id('request') };
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'the load returns the payload');
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'the retry returns the same payload');
      expectEqual(
        await agents.loadPlannerState(token, { requestId: bench.id('request') }),
        {},
        'another request gets {}',
      );
      expectEqual(await agents.loadPlannerState(token), {}, 'a load without a request id gets {}');
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'the retry still returns the payload');
    },
  }),

  pauses({
    id: 'agents/pauses/peek-does-not-consume',
    title: 'Peeking returns the metadata of a pause and does not consume it',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      const payload = pausePayload({ secret: 'only for the planner' });
      await agents.savePlannerState(token, payload, { sessionId: 'session', taskId: 'task' });
      const first = await agents.peekPause(token);
      const { createdAt, expiresAt, ...rest } = first as PauseInfo;
      const pauseId = createHash('sha256').update(token).digest('hex');
      const known = { pauseId, state: 'waiting', sessionId: 'session', taskId: 'task', reason: 'approval_required' };
      expectEqual<unknown>(rest, known, 'a pause is known by the hash of its token, with session, task and reason');
      expect(createdAt < expiresAt, 'a pause shows when it was created and when it expires');
      expect(!printed(first).includes('only for the planner'), 'the payload is not shown');
      expectEqual(await agents.peekPause(token), first, 'peeking again shows the same');
      expectEqual(await agents.loadPlannerState(token), payload, 'the pause can still be loaded');
      expectEqual((await agents.peekPause(token))?.state, 'consumed', 'a loaded pause is shown as consumed');
    },
  }),

  pauses({
    id: 'agents/pauses/listed-without-tokens',
    title: 'Pauses are listed by id and by session, page by page, as metadata only',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const tokens = Array.from({ length: 7 }, () => bench.id('token'));
      await inOrder(tokens, (token) =>
        agents.savePlannerState(token, pausePayload({ hidden: token }), {
          sessionId: tokens.indexOf(token) < 3 ? 'one' : 'two',
        }),
      );
      const ids = tokens.map((token) => createHash('sha256').update(token).digest('hex'));
      expectEqual((await agents.listPauses({ limit: 3 })).items.length, 3, 'a page holds as many as its limit');
      const listed = await allPages((cursor) => agents.listPauses({ cursor, limit: 3 }));
      expectEqual(
        listed.map((info) => info.pauseId),
        [...ids].sort(),
        'every pause is listed once, in order of its id',
      );
      const one = await allPages((cursor) => agents.listPauses({ cursor, limit: 2, sessionId: 'one' }));
      expectEqual(
        one.map((info) => info.pauseId),
        ids.slice(0, 3).sort(),
        'a session lists its own pauses',
      );
      for (const token of tokens) expect(!printed(listed).includes(token), 'neither token nor payload is listed');
      expectEqual((await agents.listPauses({ sessionId: 'none' })).items, [], 'an unknown session has none');
    },
  }),

  pauses({
    id: 'agents/pauses/tokens-are-never-shown',
    title: 'No result and no error contains a token',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('secret-token');
      const mute = (value: unknown) =>
        expect(!printed(value).includes(token), `a token is not shown: ${printed(value)}`);
      await agents.savePlannerState(token, pausePayload());
      mute(await agents.peekPause(token));
      mute(await agents.claimPause(token));
      mute(await expectCode('CLAIM_LOST', 'a foreign claim is refused', () => agents.confirmPause(token, 'foreign')));
      mute(await expectCode('CLAIM_LOST', 'a foreign claim is refused', () => agents.releasePause(token, 'foreign')));
      mute(
        await expectCode('INVALID_PAYLOAD', 'a bad payload is refused', () =>
          agents.savePlannerState(token, { n: Number.NaN }),
        ),
      );
      const used = `${token}-used`;
      await agents.savePlannerState(used, pausePayload());
      await agents.loadPlannerState(used);
      mute(
        await expectCode('TOKEN_CONSUMED', 'a used token is refused', () =>
          agents.savePlannerState(used, pausePayload()),
        ),
      );
      const long = token.repeat(40);
      mute(
        await expectCode('INVALID_ARGUMENT', 'an invalid token is refused', () =>
          agents.savePlannerState(long, pausePayload()),
        ),
      );
    },
  }),

  pauses({
    id: 'agents/pauses/reason-only-when-text',
    title: 'The reason of a pause is shown when it is a string',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const reason of [{ code: 1 }, 7, null, undefined]) {
        const token = bench.id('token');
        await agents.savePlannerState(token, pausePayload({ reason }));
        expect((await agents.peekPause(token))?.reason === undefined, 'a reason that is not a string is not shown');
      }
    },
  }),
];
