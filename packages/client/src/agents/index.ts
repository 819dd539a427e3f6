/** The agent capabilities over HTTP. */
import type { AgentStore, StoreLimits } from '@tidemark/core/portable';
import type { Transport } from '../transport.ts';
import { httpBindings } from './bindings.ts';
import { httpEvents } from './events.ts';
import { httpMemory } from './memory.ts';
import { httpPauses } from './pauses.ts';
import { httpPlannerEvents, httpSessions, httpSteering, httpTasks, httpTrajectories, httpUpdates } from './sessions.ts';

export function httpAgents(transport: Transport, limits: StoreLimits): AgentStore {
  return {
    ...httpEvents(transport, limits),
    ...httpBindings(transport, limits),
    ...httpPauses(transport, limits),
    ...httpMemory(transport, limits),
    ...httpTasks(transport, limits),
    ...httpUpdates(transport, limits),
    ...httpSteering(transport, limits),
    ...httpTrajectories(transport, limits),
    ...httpPlannerEvents(transport, limits),
    ...httpSessions(transport),
  };
}
