/** All routes, domain by domain. */
import { ADMIN_ROUTES } from './admin.ts';
import { BINDING_ROUTES } from './agents/bindings.ts';
import { FLOW_EVENT_ROUTES } from './agents/events.ts';
import { MEMORY_ROUTES } from './agents/memory.ts';
import { PAUSE_ROUTES } from './agents/pauses.ts';
import { SESSION_ROUTES } from './agents/sessions.ts';
import { TRAJECTORY_ROUTES } from './agents/trajectories.ts';
import { ARTIFACT_ROUTES } from './artifacts.ts';
import { FEED_ROUTES } from './feed.ts';
import { INFO_ROUTES } from './info.ts';
import { JOB_ROUTES } from './jobs.ts';
import { KV_ROUTES } from './kv.ts';
import { QUARANTINE_ROUTES } from './quarantines.ts';
import type { Route } from './route.ts';
import { RUN_ARCHIVE_ROUTES } from './run-archive.ts';
import { RUN_EVENT_ROUTES } from './run-events.ts';
import { RUN_ROUTES } from './runs.ts';
import { STREAM_ROUTES } from './stream.ts';

export const ROUTES: readonly Route[] = [
  ...INFO_ROUTES,
  ...RUN_ROUTES,
  ...RUN_EVENT_ROUTES,
  ...RUN_ARCHIVE_ROUTES,
  ...QUARANTINE_ROUTES,
  ...FEED_ROUTES,
  ...KV_ROUTES,
  ...JOB_ROUTES,
  ...FLOW_EVENT_ROUTES,
  ...BINDING_ROUTES,
  ...PAUSE_ROUTES,
  ...MEMORY_ROUTES,
  ...SESSION_ROUTES,
  ...TRAJECTORY_ROUTES,
  ...ARTIFACT_ROUTES,
  ...ADMIN_ROUTES,
  ...STREAM_ROUTES,
];
