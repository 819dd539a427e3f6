/** Stores that break bindings of a router's session: their members, their order, the mark, and their erasure. */
import type { BindingKey, RemoteBinding } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

const nameOf = ({ traceId, contextId, taskId }: BindingKey) => JSON.stringify([traceId, contextId, taskId]);

function withoutMetadata({ metadata: _, ...binding }: RemoteBinding): RemoteBinding {
  return binding;
}

/** A store without an index of sessions: it remembers the session that each binding had first. */
function firstSessions() {
  const sessions = new Map<string, string>();
  return {
    note: (binding: RemoteBinding) => {
      const name = nameOf(binding);
      if (binding.routerSessionId && !sessions.has(name)) sessions.set(name, binding.routerSessionId);
    },
    traces: (session: string) => [...sessions].flatMap(([name, of]) => (of === session ? [JSON.parse(name)[0]] : [])),
  };
}

export const BROKEN_BINDINGS: readonly BrokenStore[] = [
  broken(
    'bindings-without-metadata',
    'forgets the metadata of a binding that belongs to a session',
    'agents/bindings/every-member-comes-back',
    {
      agents: (agents) => ({
        saveRemoteBinding: (binding, options) =>
          agents.saveRemoteBinding(binding.routerSessionId ? withoutMetadata(binding) : binding, options),
      }),
    },
  ),

  broken(
    'bindings-in-first-order',
    'lists bindings in the order of their first save',
    'agents/bindings/most-recent-first',
    () => {
      const first: string[] = [];
      const at = (binding: RemoteBinding) => first.indexOf(nameOf(binding));
      return {
        agents: (agents) => ({
          async saveRemoteBinding(binding, options) {
            await agents.saveRemoteBinding(binding, options);
            if (at(binding) === -1) first.push(nameOf(binding));
          },
          listBindings: async (session, options) =>
            (await agents.listBindings(session, options)).sort((a, b) => at(b) - at(a)),
        }),
      };
    },
  ),

  broken(
    'bindings-of-one-page',
    'reads only the first page of a session’s bindings',
    'agents/bindings/long-sessions-are-whole',
    {
      agents: (agents) => ({
        listBindings: async (session, options) => (await agents.listBindings(session, options)).slice(0, 100),
      }),
    },
  ),

  broken(
    'binding-of-any-user',
    'finds a binding of some user when none is asked for',
    'agents/bindings/found-for-its-conversation',
    {
      agents: (agents) => ({
        async findBinding(query, options) {
          const found = await agents.findBinding(query, options);
          if (found || query.userId) return found;
          const all = await agents.listBindings(query.routerSessionId, options);
          return all.find((it) => it.agentUrl === query.agentUrl && it.remoteSkill === query.remoteSkill) ?? null;
        },
      }),
    },
  ),

  broken(
    'mark-drops-metadata',
    'marks a binding by saving it without the members that it does not look up',
    'agents/bindings/terminal-is-passed-over',
    {
      agents: (agents) => ({
        async markBindingTerminal(key, options) {
          const stored = (await agents.listRemoteBindings(key.traceId)).find((it) => nameOf(it) === nameOf(key));
          if (!stored) return false;
          if (!stored.isTerminal)
            await agents.saveRemoteBinding({ ...withoutMetadata(stored), isTerminal: true }, options);
          return true;
        },
      }),
    },
  ),

  broken(
    'sessions-keep-moved-bindings',
    'still lists a binding in the session that it was saved for first',
    'agents/bindings/moves-between-sessions',
    () => {
      const sessions = firstSessions();
      return {
        agents: (agents) => ({
          async saveRemoteBinding(binding, options) {
            await agents.saveRemoteBinding(binding, options);
            sessions.note(binding);
          },
          async listBindings(session, options) {
            const lists = sessions.traces(session).map((traceId) => agents.listRemoteBindings(traceId, options));
            return (await Promise.all(lists)).flat();
          },
        }),
      };
    },
  ),

  broken(
    'mark-writes-what-it-read',
    'marks a binding by reading it and saving it again, over a save in between',
    'agents/bindings/marks-lose-no-save',
    {
      agents: (agents) => ({
        async markBindingTerminal(key, options) {
          const stored = (await agents.listRemoteBindings(key.traceId)).find((it) => nameOf(it) === nameOf(key));
          if (!stored) return false;
          await new Promise((resolve) => setTimeout(resolve, 2));
          await agents.saveRemoteBinding({ ...stored, isTerminal: true }, options);
          return true;
        },
      }),
    },
  ),

  broken(
    'erasure-forgets-router-sessions',
    'erases only bindings of the session’s traces',
    'general/erased-sessions-take-their-bindings',
    {
      admin: (admin, _, view) => ({
        async eraseSession(sessionId, options) {
          const kept = await view.agents.listBindings(sessionId);
          const report = await admin.eraseSession(sessionId, options);
          for (const binding of kept) await view.agents.saveRemoteBinding(binding);
          return report;
        },
      }),
    },
  ),

  broken(
    'erasure-takes-moved-bindings',
    'erases the bindings that a session had when the erasure began, wherever they are now',
    'general/moved-bindings-survive-an-erasure',
    () => {
      const gone = new Set<string>();
      const rest = (bindings: readonly RemoteBinding[]) => bindings.filter((it) => !gone.has(nameOf(it)));
      return {
        agents: (agents) => ({
          listRemoteBindings: async (traceId, options) => rest(await agents.listRemoteBindings(traceId, options)),
          listBindings: async (session, options) => rest(await agents.listBindings(session, options)),
        }),
        admin: (admin, _, view) => ({
          async eraseSession(sessionId, options) {
            const seen = await view.agents.listBindings(sessionId);
            const report = await admin.eraseSession(sessionId, options);
            for (const binding of seen) gone.add(nameOf(binding));
            return report;
          },
        }),
      };
    },
  ),
];
