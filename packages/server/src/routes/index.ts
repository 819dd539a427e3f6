/** All routes with their handlers, by domain. */
import { ADMIN_HANDLERS } from './admin.ts';
import { BINDING_HANDLERS } from './agents/bindings.ts';
import { FLOW_EVENT_HANDLERS } from './agents/events.ts';
import { MEMORY_HANDLERS } from './agents/memory.ts';
import { PAUSE_HANDLERS } from './agents/pauses.ts';
import { SESSION_HANDLERS } from './agents/sessions.ts';
import { TRAJECTORY_HANDLERS } from './agents/trajectories.ts';
import { ARTIFACT_HANDLERS } from './artifacts.ts';
import { FEED_HANDLERS } from './feed.ts';
import { INFO_HANDLERS } from './info.ts';
import { JOB_HANDLERS } from './jobs.ts';
import { KV_HANDLERS } from './kv.ts';
import { QUARANTINE_HANDLERS } from './quarantines.ts';
import type { Route } from './route.ts';
import { RUN_ARCHIVE_HANDLERS } from './run-archive.ts';
import { RUN_EVENT_HANDLERS } from './run-events.ts';
import { RUN_HANDLERS } from './runs.ts';
import { STREAM_HANDLERS } from './stream.ts';

export const ROUTES: readonly Route[] = [
  ...INFO_HANDLERS,
  ...RUN_HANDLERS,
  ...RUN_EVENT_HANDLERS,
  ...RUN_ARCHIVE_HANDLERS,
  ...QUARANTINE_HANDLERS,
  ...FEED_HANDLERS,
  ...KV_HANDLERS,
  ...JOB_HANDLERS,
  ...FLOW_EVENT_HANDLERS,
  ...BINDING_HANDLERS,
  ...PAUSE_HANDLERS,
  ...MEMORY_HANDLERS,
  ...SESSION_HANDLERS,
  ...TRAJECTORY_HANDLERS,
  ...ARTIFACT_HANDLERS,
  ...ADMIN_HANDLERS,
  ...STREAM_HANDLERS,
];
