/**
 * The agent engine of keyed backends, built on journal and records. Only single records and commits are assumed to be
 * atomic. The steps are safe with several processes, and safe if a process crashes after any step.
 */

import type { AgentEngine } from '../../engine/agents.ts';
import type { Journal } from '../../engine/journal.ts';
import type { Records } from '../../engine/records.ts';
import { Contention } from '../../tools/contention.ts';
import type { StoreContext } from '../../tools/context.ts';
import { keyedBindings } from './bindings.ts';
import { keyedEvents } from './events.ts';
import { keyedMemory } from './memory.ts';
import { keyedPauses } from './pauses.ts';
import { keyedPlannerEvents } from './planner-events.ts';
import { SessionBook } from './session-book.ts';
import { keyedSessionLog } from './session-log.ts';
import { keyedSessions } from './sessions.ts';
import { keyedTasks } from './tasks.ts';
import { keyedTrajectories } from './trajectories.ts';

/** Creates all agent capabilities over one journal and one set of records. */
export function keyedAgents(journal: Journal, records: Records, context: StoreContext): AgentEngine {
  const contention = new Contention(context);
  const book = new SessionBook(records, contention);
  const tasks = keyedTasks(records, contention, book);
  const trajectories = keyedTrajectories(records, contention, book);
  const plannerEvents = keyedPlannerEvents(journal, contention);
  return {
    events: keyedEvents(journal, contention),
    bindings: keyedBindings(records, contention),
    pauses: keyedPauses(records, contention),
    memory: keyedMemory(records, contention),
    tasks,
    updates: keyedSessionLog(journal, 'updates', contention, book),
    steering: keyedSessionLog(journal, 'steering', contention, book),
    trajectories,
    plannerEvents,
    sessions: keyedSessions(journal, book, { tasks, trajectories, plannerEvents }),
  };
}
