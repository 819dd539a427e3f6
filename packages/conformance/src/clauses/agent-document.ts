/** The requirements of document 000 for agents and artifacts. */
import { type Clause, section } from './clause.ts';

export const DOCUMENT_000: readonly Clause[] = [
  ...section(
    '000 save_event',
    ['MUST', 'saving the same event again changes nothing'],
    ['MUST NOT', 'a save blocks indefinitely'],
    ['SHOULD', 'events without a trace are stored'],
  ),
  ...section(
    '000 load_history',
    ['MUST', 'the history is ordered by ascending time'],
    ['MUST', 'an unknown trace has an empty history'],
    ['MUST', 'the history is a sequence of events'],
  ),
  ...section(
    '000 save_remote_binding',
    ['MUST', 'saving the same binding again changes nothing'],
    ['SHOULD', 'a later save updates it'],
  ),
  ...section(
    '000 save_planner_state',
    ['MUST', 'a token can be saved again'],
    ['SHOULD', 'a pause expires, by default after an hour'],
    ['MUST', 'the payload is JSON'],
  ),
  ...section(
    '000 load_planner_state',
    ['MUST', 'a missing or expired token returns an empty object'],
    ['SHOULD NOT', 'a missing token is an error'],
    ['SHOULD', 'loading a token consumes it'],
  ),
  ...section('000 save_memory_state', ['MUST', 'saving a key again replaces its state'], ['SHOULD', 'it is an upsert']),
  ...section(
    '000 load_memory_state',
    ['MUST', 'an unknown key returns null'],
    ['SHOULD', 'the state is exactly the one that was saved'],
  ),
  ...section('000 save_task', ['MUST', 'saving a task again updates it']),
  ...section(
    '000 list_tasks',
    ['MUST', 'all tasks of the session are listed'],
    ['MUST', 'an unknown session has none'],
  ),
  ...section('000 save_update', ['SHOULD', 'updates are only appended, once per id']),
  ...section(
    '000 list_updates',
    ['SHOULD', 'order is stable and the cursor exclusive'],
    ['SHOULD', 'an unknown cursor is ignored'],
    ['SHOULD NOT', 'filters apply after the limit'],
  ),
  ...section(
    '000 save_steering',
    ['MUST', 'the sanitised payload is stored'],
    ['SHOULD', 'an event is stored once per id'],
  ),
  ...section('000 list_steering', ['SHOULD', 'order is stable and the cursor exclusive']),
  ...section('000 save_trajectory', ['MUST', 'a trajectory can be saved again']),
  ...section('000 get_trajectory', ['MUST', 'an unknown trace or another session returns null']),
  ...section('000 list_traces', ['MUST', 'traces of the session are listed, most recent first']),
  ...section('000 save_planner_event', ['MUST', 'planner events are only appended']),
  ...section('000 list_planner_events', ['SHOULD', 'emission order is kept']),
  ...section(
    '000 artifact_store',
    ['MUST', 'artifacts are supported or declared absent'],
    ['SHOULD', 'access is by session'],
  ),
  ...section('000 idempotency', ['MUST', 'every save can be repeated; loading a pause cannot']),
  ...section(
    '000 consistency',
    ['MUST', 'pauses are strongly consistent'],
    ['SHOULD', 'tasks and steering are strongly consistent'],
    ['MAY', 'events and memory are eventually consistent'],
  ),
  ...section(
    '000 ordering',
    ['MUST', 'events are ordered by time, then by insertion'],
    ['SHOULD', 'updates, steering and planner events have a stable order'],
  ),
  ...section(
    '000 errors',
    ['MUST', 'reading missing data is not an error'],
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
  ...section('000 admin', [
    'SHOULD',
    'history and replay are available on the command line, with a named factory',
    '`packages/cli/test/history.test.ts`',
  ]),
  ...section('000 pooling', [
    'SHOULD',
    'connections are pooled and have time limits',
    '`packages/postgres/test/faults.test.ts`, `packages/redis/test/faults.test.ts`, `packages/nats/test/faults.test.ts`',
  ]),
  ...section('000 batching', [
    'MAY',
    'events are written in batches of 100',
    'the batching store of AGT-12: `packages/core/src/wrappers/wrappers.test.ts`',
  ]),
  ...section('000 indexes', [
    'SHOULD',
    'indexes by trace and time, and by expiry',
    '`packages/sqlite/migrations/0003_agents.sql`, `packages/postgres/migrations/0003_agents.sql`',
  ]),
];
