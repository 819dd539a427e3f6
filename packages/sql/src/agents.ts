/** The agent engine of SQL backends: a table per capability, named as in the specification (document 000). */
import type { AgentEngine } from '@tidemark/core/engine';
import { sqlBindings } from './agents/bindings.ts';
import { sqlEvents } from './agents/events.ts';
import { sqlMemory } from './agents/memory.ts';
import { sqlPauses } from './agents/pauses.ts';
import { sqlPlannerEvents } from './agents/planner-events.ts';
import { sqlSessionLog } from './agents/session-log.ts';
import { sqlSessions } from './agents/sessions.ts';
import { sqlTasks } from './agents/tasks.ts';
import { sqlTrajectories } from './agents/trajectories.ts';
import type { SqlDatabase, SqlSignals } from './database.ts';

/** Creates the agent engine with all its capabilities over one database. */
export function sqlAgents(db: SqlDatabase, signals: SqlSignals): AgentEngine {
  return {
    events: sqlEvents(db),
    bindings: sqlBindings(db),
    pauses: sqlPauses(db),
    memory: sqlMemory(db),
    tasks: sqlTasks(db),
    updates: sqlSessionLog(db, { table: 'updates', id: 'update_id' }, signals),
    steering: sqlSessionLog(db, { table: 'steering', id: 'event_id' }, signals),
    trajectories: sqlTrajectories(db),
    plannerEvents: sqlPlannerEvents(db),
    sessions: sqlSessions(db),
  };
}
