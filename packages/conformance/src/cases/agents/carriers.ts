/** Every way a JSON value enters and leaves the agent store, for the promises common to all of them. */
import type { AgentStore, Capability, JsonObject, StoreLimits } from '@tidemark/core';
import { binding, flowEvent, plannerEvent, steering, task, update } from './samples.ts';

export interface Carrier {
  name: string;
  capability: Capability;
  /** Its clause in document 000. */
  clause: string;
  /** The store limit that bounds it. Absent if the value is cut to size instead. */
  limit?: keyof StoreLimits;
  /** Whether the value must be an object. Other carriers accept any JSON value. */
  objectOnly: boolean;
  /** The name of the value in errors. */
  field: string;
  save(agents: AgentStore, id: string, value: JsonObject): Promise<unknown>;
  /** Returns the value, or `undefined` when nothing is stored. */
  load(agents: AgentStore, id: string): Promise<unknown>;
}

export const CARRIERS: readonly Carrier[] = [
  {
    name: 'event',
    capability: 'events',
    clause: '000 save_event',
    limit: 'eventPayloadBytes',
    objectOnly: true,
    field: 'payload',
    save: (agents, id, payload) => agents.saveEvent(flowEvent(id, { payload })),
    load: async (agents, id) => (await agents.loadHistory(id))[0]?.payload,
  },
  {
    name: 'binding',
    capability: 'bindings',
    clause: '000 save_remote_binding',
    limit: 'documentBytes',
    objectOnly: true,
    field: 'metadata',
    save: (agents, id, metadata) => agents.saveRemoteBinding(binding(id, { metadata })),
    load: async (agents, id) => (await agents.listRemoteBindings(id))[0]?.metadata ?? undefined,
  },
  {
    name: 'pause',
    capability: 'pauses',
    clause: '000 save_planner_state',
    limit: 'documentBytes',
    objectOnly: true,
    field: 'payload',
    save: (agents, id, payload) => agents.savePlannerState(id, payload),
    load: async (agents, id) => {
      // Claimed and released, so that it can be read more than once.
      const claim = await agents.claimPause(id);
      if (claim) await agents.releasePause(id, claim.claimId);
      return claim?.payload;
    },
  },
  {
    name: 'memory',
    capability: 'memory',
    clause: '000 save_memory_state',
    limit: 'documentBytes',
    objectOnly: true,
    field: 'state',
    save: (agents, id, state) => agents.saveMemoryState(id, state),
    load: async (agents, id) => (await agents.loadMemoryState(id)) ?? undefined,
  },
  {
    name: 'task-context',
    capability: 'tasks',
    clause: '000 save_task',
    limit: 'documentBytes',
    objectOnly: true,
    field: 'contextSnapshot',
    save: (agents, id, contextSnapshot) => agents.saveTask(task(id, { contextSnapshot })),
    load: async (agents, id) => (await agents.listTasks(id))[0]?.contextSnapshot,
  },
  {
    name: 'task-result',
    capability: 'tasks',
    clause: '000 save_task',
    limit: 'documentBytes',
    objectOnly: false,
    field: 'result',
    save: (agents, id, result) => agents.saveTask(task(id, { result })),
    load: async (agents, id) => (await agents.listTasks(id))[0]?.result,
  },
  {
    name: 'update',
    capability: 'updates',
    clause: '000 save_update',
    limit: 'documentBytes',
    objectOnly: false,
    field: 'content',
    save: (agents, id, content) => agents.saveUpdate(update(id, 'u', { content })),
    load: async (agents, id) => (await agents.listUpdates(id))[0]?.content,
  },
  {
    name: 'steering',
    capability: 'steering',
    clause: '000 save_steering',
    objectOnly: true,
    field: 'payload',
    save: (agents, id, payload) => agents.saveSteering(steering(id, 'e', { payload })),
    load: async (agents, id) => (await agents.listSteering(id))[0]?.payload,
  },
  {
    name: 'trajectory',
    capability: 'trajectories',
    clause: '000 save_trajectory',
    limit: 'documentBytes',
    objectOnly: true,
    field: 'trajectory',
    save: (agents, id, value) => agents.saveTrajectory(id, 'session', value),
    load: async (agents, id) => (await agents.getTrajectory(id, 'session')) ?? undefined,
  },
  {
    name: 'planner-event',
    capability: 'plannerEvents',
    clause: '000 save_planner_event',
    limit: 'eventPayloadBytes',
    objectOnly: true,
    field: 'extra',
    save: (agents, id, extra) => agents.savePlannerEvent(id, plannerEvent({ extra })),
    load: async (agents, id) => (await agents.listPlannerEvents(id))[0]?.extra,
  },
];
