/** What document 000 asks of agents and artifacts. */
import { type Clause, place } from './clause.ts';

export const DOCUMENT_000: readonly Clause[] = [
  ...place(
    '000 save_event',
    ['MUST', 'saving the same event again does no harm'],
    ['MUST NOT', 'it blocks without end'],
    ['SHOULD', 'events without a trace are kept'],
  ),
  ...place(
    '000 load_history',
    ['MUST', 'the history is in ascending order of time'],
    ['MUST', 'an unknown trace has an empty history'],
    ['MUST', 'it is a sequence of events'],
  ),
  ...place(
    '000 save_remote_binding',
    ['MUST', 'saving the same binding again does no harm'],
    ['SHOULD', 'a later save updates it'],
  ),
  ...place(
    '000 save_planner_state',
    ['MUST', 'saving a token again does no harm'],
    ['SHOULD', 'a pause expires, by default after an hour'],
    ['MUST', 'the payload is JSON'],
  ),
  ...place(
    '000 load_planner_state',
    ['MUST', 'a missing or expired token gives an empty object'],
    ['SHOULD NOT', 'a missing token is an error'],
    ['SHOULD', 'a token is used up by loading it'],
  ),
  ...place('000 save_memory_state', ['MUST', 'saving a key again replaces its state'], ['SHOULD', 'it is an upsert']),
  ...place(
    '000 load_memory_state',
    ['MUST', 'an unknown key gives null'],
    ['SHOULD', 'the state is exactly the one that was saved'],
  ),
  ...place('000 save_task', ['MUST', 'saving a task again updates it']),
  ...place('000 list_tasks', ['MUST', 'all tasks of the session are listed'], ['MUST', 'an unknown session has none']),
  ...place('000 save_update', ['SHOULD', 'updates are only added, once by their id']),
  ...place(
    '000 list_updates',
    ['SHOULD', 'order is stable and the cursor exclusive'],
    ['SHOULD', 'an unknown cursor counts as none'],
    ['SHOULD NOT', 'filters apply after the limit'],
  ),
  ...place(
    '000 save_steering',
    ['MUST', 'the sanitised payload is stored'],
    ['SHOULD', 'an event is stored once by its id'],
  ),
  ...place('000 list_steering', ['SHOULD', 'order is stable and the cursor exclusive']),
  ...place('000 save_trajectory', ['MUST', 'a trajectory can be saved again']),
  ...place('000 get_trajectory', ['MUST', 'an unknown trace or another session gives null']),
  ...place('000 list_traces', ['MUST', 'traces of the session, most recent first']),
  ...place('000 save_planner_event', ['MUST', 'planner events are only added']),
  ...place('000 list_planner_events', ['SHOULD', 'emission order is kept']),
  ...place(
    '000 artifact_store',
    ['MUST', 'artifacts are offered or declared absent'],
    ['SHOULD', 'access is by session'],
  ),
  ...place('000 idempotency', ['MUST', 'every save may be repeated; loading a pause may not']),
  ...place(
    '000 consistency',
    ['MUST', 'pauses are strongly consistent'],
    ['SHOULD', 'so are tasks and steering'],
    ['MAY', 'events and memory are eventually consistent'],
  ),
  ...place(
    '000 ordering',
    ['MUST', 'events by time, then by insertion'],
    ['SHOULD', 'updates, steering and planner events in stable order'],
  ),
  ...place(
    '000 errors',
    ['MUST', 'reads of what is not there are no errors'],
    [
      'MUST',
      'errors never crash the runtime',
      'withFailSafe(store) of GEN-1: `packages/core/src/wrappers/wrappers.test.ts`',
    ],
    [
      'SHOULD',
      'failures are logged with event, trace, method and exception',
      'withFailSafe(store) of GEN-1: `packages/core/src/wrappers/wrappers.test.ts`',
    ],
  ),
  ...place('000 admin', [
    'SHOULD',
    'history and replay from a command line, over a named factory',
    '`packages/cli/test/history.test.ts`',
  ]),
  ...place('000 pooling', [
    'SHOULD',
    'connections are pooled and time limits set',
    '`packages/postgres/test/faults.test.ts`, `packages/redis/test/faults.test.ts`, `packages/nats/test/faults.test.ts`',
  ]),
  ...place('000 batching', [
    'MAY',
    'events are written in batches of 100',
    'the batching store of AGT-12: `packages/core/src/wrappers/wrappers.test.ts`',
  ]),
  ...place('000 indexes', [
    'SHOULD',
    'indexes by trace and time, and by expiry',
    '`packages/sqlite/migrations/0003_agents.sql`, `packages/postgres/migrations/0003_agents.sql`',
  ]),
];
