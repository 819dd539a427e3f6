/** Updates of a session: the cursor rules that steering shares, then the rules that apply only to updates (AGT-7). */

import type { StateUpdate, UpdateType } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expectEqual } from '../../expect.ts';
import { take } from '../iterate.ts';
import { casesOf, inOrder, peerAgents, update } from './samples.ts';
import { type SessionLog, sessionLogCases } from './session-log.ts';

const updates = casesOf('agents', 'updates');

const UPDATE_LOG: SessionLog = {
  capability: 'updates',
  save: (agents, sessionId, id, taskId = 'task') => agents.saveUpdate(update(sessionId, id, { taskId })),
  list: async (agents, sessionId, options) => ids(await agents.listUpdates(sessionId, options)),
  page: async (agents, sessionId, options) => {
    const page = await agents.listUpdatesPage(sessionId, options);
    return { ...page, items: ids(page.items) };
  },
};

function ids(items: StateUpdate[]): string[] {
  return items.map((item) => item.updateId);
}

const TYPES: UpdateType[] = [
  'THINKING',
  'PROGRESS',
  'TOOL_CALL',
  'RESULT',
  'ERROR',
  'CHECKPOINT',
  'STATUS_CHANGE',
  'NOTIFICATION',
];

export const UPDATE_CASES = [
  ...sessionLogCases(UPDATE_LOG),

  updates({
    id: 'agents/updates/come-back-whole',
    title: 'An update is returned with every field as it was saved',
    proves: ['000 save_update', '000 list_updates', 'AGT-1'],
    async run(bench) {
      const sessionId = bench.id('session');
      const contents = [{ text: 'hi' }, ['a', 1], 'text', 0, false, null, '', {}];
      const sent = TYPES.map((updateType, n) => update(sessionId, `u${n}`, { updateType, content: contents[n] }));
      await inOrder(sent, (one) => bench.tenant.agents.saveUpdate(one));
      expectEqual(
        await bench.tenant.agents.listUpdates(sessionId),
        sent,
        'updates of every type and content come back as saved',
      );
      expectEqual((await bench.tenant.agents.listUpdatesPage(sessionId)).items, sent, 'pages return the same items');
    },
  }),

  updates({
    id: 'agents/updates/first-write-wins',
    title: 'An update saved again with other content keeps its first content',
    proves: ['000 save_update', '000 idempotency', 'AGT-7'],
    async run(bench) {
      const sessionId = bench.id('session');
      await bench.tenant.agents.saveUpdate(update(sessionId, 'u', { content: 'first' }));
      await bench.tenant.agents.saveUpdate(update(sessionId, 'u', { content: 'second' }));
      const contents = (await bench.tenant.agents.listUpdates(sessionId)).map((one) => one.content);
      expectEqual<unknown>(contents, ['first'], 'updates are append-only');
    },
  }),

  updates({
    id: 'agents/updates/five-hundred-by-default',
    title: 'A list returns 500 updates by default',
    proves: ['000 list_updates', 'AGT-7'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      for (let from = 0; from < 520; from += 40) {
        await Promise.all(Array.from({ length: 40 }, (_, n) => agents.saveUpdate(update(sessionId, `u${from + n}`))));
      }
      const first = await agents.listUpdatesPage(sessionId);
      expectEqual(first.items.length, 500, 'the first page holds 500');
      expectEqual((await agents.listUpdates(sessionId)).length, 500, 'the plain list returns 500 too');
      expectEqual(
        (await agents.listUpdates(sessionId, { sinceId: first.next })).length,
        20,
        'the next page has the rest',
      );
    },
  }),

  updates({
    id: 'agents/updates/tail-gives-what-is-there-then-what-comes',
    title: 'A tail yields the stored updates, then each new one as it arrives',
    proves: ['AGT-7'],
    async run(bench) {
      const { agents } = bench.tenant;
      const peer = await peerAgents(bench);
      const sessionId = bench.id('session');
      await inOrder(['u1', 'u2', 'u3'], (id) => agents.saveUpdate(update(sessionId, id)));
      const tail = take(6, (signal) => agents.tailUpdates(sessionId, { sinceId: 'u1', signal }));
      await sleep(20);
      await inOrder(['u4', 'u5'], (id) => agents.saveUpdate(update(sessionId, id)));
      await inOrder(['u3', 'u6', 'u7'], (id) => peer.saveUpdate(update(sessionId, id)));
      expectEqual(
        ids(await tail),
        ['u2', 'u3', 'u4', 'u5', 'u6', 'u7'],
        'each update after the cursor arrives once, in order',
      );
    },
  }),

  updates({
    id: 'agents/updates/cut-tails-join',
    title: 'A tail that is interrupted repeatedly and resumed after the last update has no gaps or repeats',
    proves: ['AGT-7'],
    async run(bench) {
      const { agents } = bench.tenant;
      const clients = [agents, await peerAgents(bench)];
      const sessionId = bench.id('session');
      const names = Array.from({ length: 60 }, (_, n) => `u${n}`);
      const writing = inOrder(names, async (id) => {
        await agents.saveUpdate(update(sessionId, id));
        if (id.endsWith('0')) await sleep(5);
      });
      const seen: string[] = [];
      for (let cut = 0; seen.length < 40; cut++) {
        const sinceId = seen.at(-1);
        const piece = await take(7, (signal) => clients[cut % 2]!.tailUpdates(sessionId, { sinceId, signal }));
        seen.push(...ids(piece));
      }
      await writing;
      expectEqual(seen, names.slice(0, seen.length), 'the parts join without gap or repeat');
    },
  }),

  updates({
    id: 'agents/updates/tail-of-a-task',
    title: 'A tail of one task yields only its updates, and an unknown cursor starts from the beginning',
    proves: ['AGT-7'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const send = (id: string) => UPDATE_LOG.save(agents, sessionId, id, id[0]);
      await inOrder(['a1', 'b1'], send);
      const tail = take(3, (signal) => agents.tailUpdates(sessionId, { taskId: 'a', sinceId: 'never', signal }));
      await sleep(20);
      await inOrder(['b2', 'a2', 'b3', 'a3'], send);
      expectEqual(ids(await tail), ['a1', 'a2', 'a3'], 'updates of other tasks and sessions are not in the tail');
    },
  }),

  updates({
    id: 'agents/updates/tail-ends-when-aborted',
    title: 'A tail ends when it is aborted',
    proves: ['AGT-7', 'GEN-3'],
    async run(bench) {
      const sessionId = bench.id('session');
      const controller = new AbortController();
      const tail = bench.tenant.agents.tailUpdates(sessionId, { signal: controller.signal })[Symbol.asyncIterator]();
      const waiting = tail.next().then(
        (step) => (step.done ? 'ended' : 'an update'),
        (error: Error & { code?: string }) => (error.code === 'ABORTED' ? 'ended' : String(error)),
      );
      await sleep(20);
      controller.abort();
      expectEqual(
        await Promise.race([waiting, sleep(2_000).then(() => 'still waiting')]),
        'ended',
        'a tail ends when it is aborted',
      );
    },
  }),
];
