/** The agent store of every backend: validates and encodes before the engine, and decodes after it (AGT-1). */

import type { AgentStore } from '../contracts/agents.ts';
import type { AgentEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { createBindings } from './bindings.ts';
import { createEvents } from './events.ts';
import { createMemory } from './memory.ts';
import { createPauses } from './pauses.ts';
import { createPlannerEvents } from './planner-events.ts';
import { createSessions } from './sessions.ts';
import { createSteering } from './steering.ts';
import { createTasks } from './tasks.ts';
import { createTrajectories } from './trajectories.ts';
import { createUpdates } from './updates.ts';

/** Creates all capabilities of one tenant. The engine may itself be composed of several. */
export function createAgents(context: StoreContext, engine: AgentEngine, tenantId: string): AgentStore {
  return {
    ...createEvents(context, engine.events, tenantId),
    ...createBindings(context, engine.bindings, tenantId),
    ...createPauses(context, engine.pauses, tenantId),
    ...createMemory(context, engine.memory, tenantId),
    ...createTasks(context, engine.tasks, tenantId),
    ...createUpdates(context, engine.updates, tenantId),
    ...createSteering(context, engine.steering, tenantId),
    ...createTrajectories(context, engine.trajectories, tenantId),
    ...createPlannerEvents(context, engine.plannerEvents, tenantId),
    ...createSessions(context, engine.sessions, tenantId),
  };
}
