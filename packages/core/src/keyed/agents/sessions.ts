/** Sessions on top of the session records, listed with their last activity. Removal deletes a session's record last. */
import { timeText } from '../../checks/numbers.ts';
import type { SessionInfo } from '../../contracts/agents.ts';
import type { SessionEngine } from '../../engine/agents.ts';
import type { Journal } from '../../engine/journal.ts';
import type { KeyedPlannerEvents } from './planner-events.ts';
import type { BookedSession, SessionBook } from './session-book.ts';
import type { KeyedTasks } from './tasks.ts';
import type { KeyedTrajectories } from './trajectories.ts';

/** The parts of sessions that are removed with them. */
export interface SessionContents {
  tasks: KeyedTasks;
  trajectories: KeyedTrajectories;
  plannerEvents: KeyedPlannerEvents;
}

const LOGS = ['updates', 'steering'] as const;

export function keyedSessions(journal: Journal, book: SessionBook, contents: SessionContents): SessionEngine {
  return {
    async list(tenantId, range, call) {
      const infoOf = async ({ sessionId, createdAt, touchedAt }: BookedSession): Promise<SessionInfo> => {
        const heads = await Promise.all(LOGS.map((space) => journal.head({ space, tenantId, name: sessionId }, call)));
        const lastActiveAt = Math.max(touchedAt, ...heads.map(({ head }) => head?.updatedAt ?? 0));
        return { sessionId, createdAt: timeText(createdAt), lastActiveAt: timeText(lastActiveAt) };
      };
      return Promise.all((await book.list(tenantId, range, call)).map(infoOf));
    },

    async remove(tenantId, sessionId, call) {
      let plannerEvents = 0;
      const removeEvents = async (traceId: string) => {
        plannerEvents += await contents.plannerEvents.removeAll(tenantId, traceId, call);
      };
      const trajectories = await contents.trajectories.removeAll(tenantId, sessionId, removeEvents, call);
      const tasks = await contents.tasks.removeAll(tenantId, sessionId, call);
      const updates = await journal.remove({ space: 'updates', tenantId, name: sessionId }, null, call);
      const steering = await journal.remove({ space: 'steering', tenantId, name: sessionId }, null, call);
      // Removed last, because an interrupted removal can be retried while the session is listed.
      await book.remove(tenantId, sessionId, call);
      return { tasks, updates, steering, trajectories, plannerEvents };
    },
  };
}
