/** Agent lists whose last page is exactly full: they return no further cursor. */
import type { AgentStore } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import { pageSizes, upTo } from '../iterate.ts';
import { casesOf, memoryState, pausePayload, steering, task, update } from './samples.ts';

const lists = casesOf('agents', 'pauses', 'memory', 'tasks', 'sessions', 'updates', 'steering');

const COUNT = 6;
const SESSION = 'session-1';

type Cursor = { cursor?: string; limit: number };

/** Every paged agent list, filled with `COUNT` items. */
const LISTS: Record<string, (agents: AgentStore, page: Cursor) => Promise<{ items: unknown[]; next?: string }>> = {
  listPauses: (agents, page) => agents.listPauses(page),
  listMemory: (agents, page) => agents.listMemory(page),
  listSessions: (agents, page) => agents.listSessions(page),
  listUpdatesPage: (agents, { cursor, limit }) => agents.listUpdatesPage(SESSION, { sinceId: cursor, limit }),
  listSteeringPage: (agents, { cursor, limit }) => agents.listSteeringPage(SESSION, { sinceId: cursor, limit }),
};

export const FULL_PAGE_CASES = [
  lists({
    id: 'agents/lists/full-last-pages',
    title: 'A list whose last page is exactly full has no further page',
    proves: ['AGT-4', 'AGT-5', 'AGT-7'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const n of upTo(COUNT)) {
        await agents.savePlannerState(bench.id('token'), pausePayload());
        await agents.saveMemoryState(`key-${n}`, memoryState(n));
        await agents.saveTask(task(`session-${n}`));
        await agents.saveUpdate(update(SESSION, `update-${n}`));
        await agents.saveSteering(steering(SESSION, `steering-${n}`));
      }
      for (const [name, list] of Object.entries(LISTS)) {
        for (const [limit, sizes] of [
          [6, [6]],
          [3, [3, 3]],
          [2, [2, 2, 2]],
          [4, [4, 2]],
          [7, [6]],
        ] as const) {
          const found = await pageSizes((cursor) =>
            list(agents, { limit, ...(cursor === undefined ? {} : { cursor }) }),
          );
          expectEqual(found, [...sizes], `${name} in pages of ${limit}`);
        }
      }
    },
  }),
];
