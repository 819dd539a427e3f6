import type { ConformanceCase } from '../../kit.ts';
import { ARGUMENT_CASES } from './arguments.ts';
import { BINDING_SESSION_CASES } from './binding-sessions.ts';
import { BINDING_CASES } from './bindings.ts';
import { EVENT_CASES } from './events.ts';
import { FULL_PAGE_CASES } from './full-pages.ts';
import { HOSTILE_ID_CASES } from './hostile-ids.ts';
import { MEMORY_CASES } from './memory.ts';
import { MEMORY_VERSION_CASES } from './memory-versions.ts';
import { PAUSE_CLAIM_CASES } from './pause-claims.ts';
import { PAUSE_ENDING_CASES } from './pause-endings.ts';
import { PAUSE_CASES } from './pauses.ts';
import { PAYLOAD_CASES } from './payloads.ts';
import { PLANNER_EVENT_CASES } from './planner-events.ts';
import { REOPEN_CASES } from './reopen.ts';
import { SESSION_CASES } from './sessions.ts';
import { STEERING_CASES } from './steering.ts';
import { TASK_CASES } from './tasks.ts';
import { TENANT_CASES } from './tenants.ts';
import { TRAJECTORY_CASES } from './trajectories.ts';
import { UPDATE_CASES } from './updates.ts';

export const AGENT_CASES: readonly ConformanceCase[] = [
  ...EVENT_CASES,
  ...BINDING_CASES,
  ...BINDING_SESSION_CASES,
  ...PAUSE_CASES,
  ...PAUSE_CLAIM_CASES,
  ...PAUSE_ENDING_CASES,
  ...MEMORY_CASES,
  ...MEMORY_VERSION_CASES,
  ...TASK_CASES,
  ...UPDATE_CASES,
  ...STEERING_CASES,
  ...TRAJECTORY_CASES,
  ...PLANNER_EVENT_CASES,
  ...SESSION_CASES,
  ...FULL_PAGE_CASES,
  ...PAYLOAD_CASES,
  ...HOSTILE_ID_CASES,
  ...TENANT_CASES,
  ...ARGUMENT_CASES,
  ...REOPEN_CASES,
];
