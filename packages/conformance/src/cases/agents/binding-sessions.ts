/** Bindings of a router's session: listed by recency, found for a conversation, marked as terminal (AGT-13). */
import type { AgentStore, BindingQuery, RemoteBinding } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import { binding, casesOf, inOrder, peerAgents } from './samples.ts';

const bindings = casesOf('agents', 'bindings');

const SKILL = 'translate';

/** A binding of a router's session. */
function bound(routerSessionId: string, traceId: string, changes: Partial<RemoteBinding> = {}): RemoteBinding {
  return binding(traceId, { routerSessionId, remoteSkill: SKILL, ...changes });
}

function queryOf(routerSessionId: string, changes: Partial<BindingQuery> = {}): BindingQuery {
  return { routerSessionId, agentUrl: binding('').agentUrl, remoteSkill: SKILL, ...changes };
}

async function tracesOf(agents: AgentStore, session: string): Promise<string[]> {
  return (await agents.listBindings(session)).map(({ traceId }) => traceId);
}

export const BINDING_SESSION_CASES = [
  bindings({
    id: 'agents/bindings/every-member-comes-back',
    title: 'Every member of a binding is returned by every read; `null` and absent members are absent',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const [session, one, two] = [id('session'), id('trace'), id('trace')];
      const whole: RemoteBinding = {
        traceId: one,
        contextId: 'context',
        taskId: 'task',
        agentUrl: 'https://worker.example/a2a',
        routerSessionId: session,
        remoteSkill: SKILL,
        tenantId: 'remote tenant',
        userId: 'user',
        lastRemoteTaskId: 'task-7',
        isTerminal: false,
        metadata: { source: 'router', nested: { list: [1, null, 'ü'] } },
      };
      await agents.saveRemoteBinding(whole);
      await agents.saveRemoteBinding({
        ...bound(session, two),
        tenantId: null,
        userId: null,
        lastRemoteTaskId: null,
        isTerminal: null,
      });
      expectEqual(await agents.listRemoteBindings(one), [whole], 'the trace lists every member');
      expectEqual(await agents.listBindings(session), [bound(session, two), whole], 'the session lists every member');
      const query = queryOf(session, { agentUrl: whole.agentUrl, tenantId: 'remote tenant', userId: 'user' });
      expectEqual(await agents.findBinding(query), whole, 'every member is found');
      await agents.saveRemoteBinding(binding(one));
      expectEqual(await agents.listRemoteBindings(one), [binding(one)], 'saving again replaces every member');
    },
  }),

  bindings({
    id: 'agents/bindings/most-recent-first',
    title: 'The bindings of a session are listed by their last update, most recent first',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const [session, other] = [id('session'), id('session')];
      const traces = [id('trace'), id('trace'), id('trace')] as const;
      expectEqual(await agents.listBindings(session), [], 'an unknown session has no bindings');
      await inOrder(traces, (traceId) => agents.saveRemoteBinding(bound(session, traceId)));
      await agents.saveRemoteBinding(bound(other, id('trace')));
      await agents.saveRemoteBinding(binding(id('trace')));
      expectEqual(await tracesOf(agents, session), [...traces].reverse(), 'the last save comes first');
      await agents.saveRemoteBinding(bound(session, traces[1], { agentUrl: 'https://elsewhere.example' }));
      expectEqual(await tracesOf(agents, session), [traces[1], traces[2], traces[0]], 'a save moves to the front');
      expect(
        await agents.markBindingTerminal({ traceId: traces[0], contextId: 'context', taskId: 'task' }),
        'the binding exists',
      );
      expectEqual(await tracesOf(agents, session), [traces[0], traces[1], traces[2]], 'a mark moves to the front');
    },
  }),

  bindings({
    id: 'agents/bindings/long-sessions-are-whole',
    title: 'A session with many bindings lists each once and in order, and finds the oldest',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const session = id('session');
      const traces = Array.from({ length: 230 }, (_, n) => `trace ${String(n).padStart(3, '0')} of ${session}`);
      await agents.saveRemoteBinding(bound(session, traces[0]!, { userId: 'first' }));
      await inOrder(traces.slice(1), (traceId) => agents.saveRemoteBinding(bound(session, traceId)));
      expectEqual(await tracesOf(agents, session), traces.toReversed(), 'every binding once, in order');
      const found = await agents.findBinding(queryOf(session, { userId: 'first' }));
      expectEqual(found?.traceId, traces[0], 'the oldest binding is found behind the others');
    },
  }),

  bindings({
    id: 'agents/bindings/found-for-its-conversation',
    title: 'A binding is found only for its own session, worker, skill, tenant and user; the most recent wins',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const session = id('session');
      const [older, newer, personal] = [id('trace'), id('trace'), id('trace')];
      await agents.saveRemoteBinding(bound(session, older));
      await agents.saveRemoteBinding(bound(session, newer));
      await agents.saveRemoteBinding(bound(session, personal, { tenantId: 'acme', userId: 'ada' }));
      const traceOf = async (changes: Partial<BindingQuery>) =>
        (await agents.findBinding(queryOf(session, changes)))?.traceId ?? null;
      expectEqual(await traceOf({}), newer, 'the most recent binding without tenant and user');
      expectEqual(await traceOf({ tenantId: null, userId: null }), newer, 'null is the same as absent');
      expectEqual(await traceOf({ tenantId: 'acme', userId: 'ada' }), personal, 'the binding of this user');
      for (const wrong of [
        { tenantId: 'acme' },
        { userId: 'ada' },
        { tenantId: 'acme', userId: 'eve' },
        { remoteSkill: 'summarise' },
        { agentUrl: 'https://other.example' },
        { routerSessionId: id('session') },
      ])
        expectEqual(await traceOf(wrong), null, `nothing matches ${Object.keys(wrong).join(' and ')}`);
    },
  }),

  bindings({
    id: 'agents/bindings/terminal-is-passed-over',
    title: 'A terminal binding is not found any more, is still listed, and keeps its other members',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const session = id('session');
      const [older, newer] = [id('trace'), id('trace')];
      const metadata = { awaiting: ['input'] };
      await agents.saveRemoteBinding(bound(session, older, { metadata, contextId: null }));
      await agents.saveRemoteBinding(bound(session, newer, { metadata }));
      const key = { traceId: newer, contextId: 'context', taskId: 'task' };
      expectEqual(await agents.markBindingTerminal(key), true, 'the binding exists');
      const ended = bound(session, newer, { metadata, isTerminal: true });
      expectEqual((await agents.findBinding(queryOf(session)))?.traceId, older, 'the older one is found instead');
      expectEqual((await agents.listBindings(session))[0], ended, 'all other members stay');
      expectEqual(
        await agents.markBindingTerminal({ ...key, traceId: older, contextId: null }),
        true,
        'without a context',
      );
      expectEqual(await agents.findBinding(queryOf(session)), null, 'no binding is left to find');
      expectEqual(await agents.markBindingTerminal(key), true, 'marking again finds it');
      expectEqual(await tracesOf(agents, session), [older, newer], 'marking again does not update it');
      for (const other of [{ traceId: id('trace') }, { contextId: null }, { taskId: 'other' }])
        expectEqual(await agents.markBindingTerminal({ ...key, ...other }), false, 'an unknown binding is not marked');
      await agents.saveRemoteBinding(bound(session, newer));
      expectEqual((await agents.findBinding(queryOf(session)))?.traceId, newer, 'a save replaces the mark too');
    },
  }),

  bindings({
    id: 'agents/bindings/moves-between-sessions',
    title: 'A binding that is saved for another session leaves the first one',
    proves: ['AGT-13'],
    async run({ tenant: { agents }, id }) {
      const [one, two, traceId] = [id('session'), id('session'), id('trace')];
      for (const session of [one, two, one]) {
        await agents.saveRemoteBinding(bound(session, traceId));
        expectEqual(await tracesOf(agents, session), [traceId], 'the session has the binding');
        const other = session === one ? two : one;
        expectEqual(await tracesOf(agents, other), [], 'the other session does not have it');
        expectEqual(await agents.findBinding(queryOf(other)), null, 'the other session does not find it');
      }
      await agents.saveRemoteBinding(binding(traceId));
      expectEqual(await tracesOf(agents, one), [], 'a binding without a session is in none');
    },
  }),

  bindings({
    id: 'agents/bindings/marks-lose-no-save',
    title: 'A mark concurrent with a save of the same binding never restores the replaced members',
    proves: ['AGT-13'],
    async run(bench) {
      const { agents } = bench.tenant;
      const peer = await peerAgents(bench);
      const session = bench.id('session');
      for (let round = 0; round < 20; round++) {
        const traceId = bench.id('trace');
        await agents.saveRemoteBinding(bound(session, traceId, { metadata: { state: 'old' } }));
        const next = bound(session, traceId, { metadata: { state: 'new' }, agentUrl: 'https://moved.example' });
        await Promise.all([
          peer.markBindingTerminal({ traceId, contextId: 'context', taskId: 'task' }),
          agents.saveRemoteBinding(next),
        ]);
        const [stored] = await agents.listRemoteBindings(traceId);
        const { isTerminal, ...rest } = stored!;
        expectEqual(rest, next, 'the save is stored whole');
        expect(isTerminal === undefined || isTerminal, 'the mark came after the save or was replaced by it');
        expectEqual((await agents.listBindings(session))[0], stored, 'the session lists the same binding first');
      }
    },
  }),
];
