/** Pause tokens: handed out once, gone at their millisecond, never shown (AGT-4). */
import { createHash } from 'node:crypto';
import type { PauseInfo } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { allPages } from '../iterate.ts';
import { stopwatch } from '../stopwatch.ts';
import { casesOf, inOrder, pausePayload, peerAgents } from './samples.ts';

const pauses = casesOf('agents', 'pauses');

const TTL = 600;

/** What a caller could print of a value or an error. */
function printed(value: unknown): string {
  const error = value instanceof Error ? `${value.message} ${value.stack} ${printed(value.cause)}` : '';
  return `${error} ${JSON.stringify(value)}`;
}

export const PAUSE_CASES = [
  pauses({
    id: 'agents/pauses/loaded-once',
    title: 'A paused plan is handed out once, and {} afterwards',
    proves: ['000 save_planner_state', '000 load_planner_state', '000 idempotency', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      expectEqual(await agents.loadPlannerState(token), pausePayload(), 'the first load gives the payload');
      expectEqual(await agents.loadPlannerState(token), {}, 'the second gives {}');
      expectEqual(await (await peerAgents(bench)).loadPlannerState(token), {}, 'and so does another client');
    },
  }),

  pauses({
    id: 'agents/pauses/missing-is-empty',
    title: 'A missing token is {}, null or nothing to take, never an error',
    proves: ['000 load_planner_state', '000 errors', 'AGT-4'],
    async run(bench) {
      const token = bench.id('missing');
      expectEqual(await bench.tenant.agents.loadPlannerState(token), {}, 'loading a missing token gives {}');
      expectEqual(await bench.tenant.agents.peekPause(token), null, 'peeking at it gives null');
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
      expectEqual(info?.reason, 'later', 'the last save stands');
      expectEqual(await agents.loadPlannerState(token), pausePayload({ reason: 'later' }), 'the last payload is given');
      expectEqual(await agents.loadPlannerState(token), {}, 'and it is given once');
    },
  }),

  pauses({
    id: 'agents/pauses/gone-at-its-millisecond',
    title: 'A pause is there until its expiry and gone from that millisecond on',
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
      if (isFresh()) expectEqual(loaded, pausePayload(), 'before its expiry a pause is there');
      await bench.pass(TTL - TTL / 3);
      expectEqual(await agents.loadPlannerState(late), {}, 'from the millisecond of its expiry on it is {}');
      expectEqual(await agents.peekPause(seen), null, 'it cannot be seen');
      expectEqual(await agents.claimPause(claimed), null, 'it cannot be claimed');
      expectEqual((await agents.listPauses()).items, [], 'and it is not listed');
    },
  }),

  pauses({
    id: 'agents/pauses/expires-after-an-hour',
    title: 'A pause lives for its ttl, an hour unless told otherwise',
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
    title: 'Of many loaders at once exactly one gets the pause',
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
    title: 'A used token cannot be brought back before its expiry',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      await agents.loadPlannerState(token);
      await expectCode('TOKEN_CONSUMED', 'a used token is not taken again', () =>
        agents.savePlannerState(token, pausePayload()),
      );
      expectEqual(await agents.loadPlannerState(token), {}, 'and nothing was saved under it');
      expectEqual(await agents.claimPause(token), null, 'nor can it be claimed');
    },
  }),

  pauses({
    id: 'agents/pauses/tokens-are-free-after-expiry',
    title: 'After its expiry a used token may be used anew',
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
        'an expired token is as good as new',
      );
    },
  }),

  pauses({
    id: 'agents/pauses/retried-load-hears-again',
    title: 'A load sent again under its request id hears the payload again',
    proves: ['GEN-8', 'AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      const token = bench.id('token');
      await agents.savePlannerState(token, pausePayload());
      const mine = { requestId: bench.id('request') };
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'the load gives the payload');
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'its retry hears the same');
      expectEqual(
        await agents.loadPlannerState(token, { requestId: bench.id('request') }),
        {},
        'another request gets {}',
      );
      expectEqual(await agents.loadPlannerState(token), {}, 'and so does one without an id');
      expectEqual(await agents.loadPlannerState(token, mine), pausePayload(), 'the retry is heard all the same');
    },
  }),

  pauses({
    id: 'agents/pauses/peek-does-not-consume',
    title: 'Peeking shows what is known of a pause and uses nothing up',
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
      expect(createdAt < expiresAt, 'it says when it was made and when it expires');
      expect(!printed(first).includes('only for the planner'), 'the payload is not shown');
      expectEqual(await agents.peekPause(token), first, 'peeking again shows the same');
      expectEqual(await agents.loadPlannerState(token), payload, 'and the pause is still there to be loaded');
      expectEqual((await agents.peekPause(token))?.state, 'consumed', 'afterwards it is known to be consumed');
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
    title: 'No answer and no error holds a token',
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
        await expectCode('INVALID_ARGUMENT', 'a token that is no id is refused', () =>
          agents.savePlannerState(long, pausePayload()),
        ),
      );
    },
  }),

  pauses({
    id: 'agents/pauses/reason-only-when-text',
    title: 'The reason of a pause is shown when it is a text',
    proves: ['AGT-4'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const reason of [{ code: 1 }, 7, null, undefined]) {
        const token = bench.id('token');
        await agents.savePlannerState(token, pausePayload({ reason }));
        expect((await agents.peekPause(token))?.reason === undefined, 'a reason that is no text is not shown');
      }
    },
  }),
];
