/** Retention of sessions with their tasks, updates, steering, trajectories and artifacts. */
import type { Store } from '@tidemark/core';
import { itemsOf } from '../listing.ts';
import type { AgedPolicy } from './checks.ts';
import { decides, jsonBytes, type Keeper, viewsOf } from './keeper.ts';
import type { SessionPolicy } from './policies.ts';

const MAX_TRACES = 10_000;

export function sessionKeeper(
  store: Store,
  policies: readonly AgedPolicy<SessionPolicy>[],
): Keeper<AgedPolicy<SessionPolicy>> {
  return {
    kind: 'sessions',
    policies,
    async *find(policy, now) {
      for await (const [tenantId, view] of viewsOf(store, policy)) {
        if (!decides(policies, policy, tenantId, () => true)) continue;
        // Small pages, so that there is little time for a session to become active between listing and removal.
        for await (const session of itemsOf((cursor) => view.agents.listSessions({ ...cursor, limit: 20 }))) {
          if (Date.parse(session.lastActiveAt) >= now - policy.olderThanMs) continue;
          const { sessionId } = session;
          yield {
            id: sessionId,
            events: 0,
            bytes: () => sessionBytes(view, sessionId),
            remove: async () => {
              const { removed } = await view.admin.eraseSession(sessionId);
              return Object.keys(removed).length > 0 ? 'deleted' : 'spared';
            },
          };
        }
      }
    },
  };
}

/** Returns the size of a session: documents as JSON text, and the bytes of artifacts. */
async function sessionBytes(view: Store, sessionId: string): Promise<number> {
  const { agents, artifacts } = view;
  let bytes = 0;
  for await (const task of agents.readTasks(sessionId)) bytes += jsonBytes(task);
  for (const list of ['listUpdatesPage', 'listSteeringPage'] as const) {
    const items = itemsOf(
      ({ cursor }) =>
        agents[list](sessionId, cursor === undefined ? {} : { sinceId: cursor }) as Promise<{
          items: unknown[];
          next?: string;
        }>,
    );
    for await (const item of items) bytes += jsonBytes(item);
  }
  for (const traceId of await agents.listTraces(sessionId, MAX_TRACES))
    bytes += jsonBytes(await agents.getTrajectory(traceId, sessionId));
  for await (const { sizeBytes } of itemsOf((cursor) => artifacts.list({ sessionId }, cursor))) bytes += sizeBytes;
  return bytes;
}
