/** The table of all routes. It is in a separate file, so that the type of the descriptions can be derived from it. */
import { ADMIN_ROUTES } from './admin.ts';
import { ARTIFACT_ROUTES } from './artifacts.ts';
import { BINDING_ROUTES } from './bindings.ts';
import { FEED_ROUTES } from './feed.ts';
import { FLOW_EVENT_ROUTES } from './flow-events.ts';
import { INFO_ROUTES } from './info.ts';
import { JOB_ROUTES } from './jobs.ts';
import { KV_ROUTES } from './kv.ts';
import { MEMORY_ROUTES } from './memory.ts';
import { PAUSE_ROUTES } from './pauses.ts';
import { QUARANTINE_ROUTES } from './quarantines.ts';
import { RUN_ARCHIVE_ROUTES } from './run-archive.ts';
import { RUN_EVENT_ROUTES } from './run-events.ts';
import { RUN_ROUTES } from './runs.ts';
import { SESSION_ROUTES } from './sessions.ts';
import { STREAM_ROUTES } from './stream.ts';
import { TRAJECTORY_ROUTES } from './trajectories.ts';

export const ROUTES = {
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
};

export type Routes = typeof ROUTES;
/** The method and path of a route. */
export type RouteName = keyof Routes;
