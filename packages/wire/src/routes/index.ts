/** The table of all routes with their schemas, by domain. Browser code imports only types from here. */
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
import { STREAM_ROUTES, TOPICS_RULE } from './stream.ts';
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

export { JSON_PARAMETER, Problem } from '../schemas/common.ts';
export type { AppendQuery, LiveQuery } from './parameters.ts';
export type { AnswerOf, BodyOf, Method, ParamsOf, QueryOf, RouteDeclaration } from './route.ts';
export {
  ADMIN_ROUTES,
  ARTIFACT_ROUTES,
  BINDING_ROUTES,
  FEED_ROUTES,
  FLOW_EVENT_ROUTES,
  INFO_ROUTES,
  JOB_ROUTES,
  KV_ROUTES,
  MEMORY_ROUTES,
  PAUSE_ROUTES,
  QUARANTINE_ROUTES,
  RUN_ARCHIVE_ROUTES,
  RUN_EVENT_ROUTES,
  RUN_ROUTES,
  SESSION_ROUTES,
  STREAM_ROUTES,
  TOPICS_RULE,
  TRAJECTORY_ROUTES,
};
