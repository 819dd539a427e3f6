/** The scenarios, and the promises that other libraries do not make, as data. */

export type Kind = 'kv' | 'jobs' | 'events' | 'checkpoints';

export interface Scenario {
  id: string;
  kind: Kind;
  /** For tables: `append an event, 64 callers over 1 000 runs`. */
  title: string;
  /** Operations per round. */
  count: number;
}

export const SCENARIOS = [
  { id: 'append', kind: 'events', title: 'append an event, 64 callers, 1 000 runs', count: 4_000 },
  { id: 'hot', kind: 'events', title: 'append an event, 64 callers, one run', count: 640 },
  { id: 'lone', kind: 'events', title: 'append an event, one caller', count: 300 },
  { id: 'batch', kind: 'events', title: 'append 100 events together', count: 60 },
  { id: 'read', kind: 'events', title: 'read 1 000 events of a run', count: 40 },
  { id: 'put', kind: 'checkpoints', title: 'put a checkpoint, 64 threads', count: 1_000 },
  { id: 'latest', kind: 'checkpoints', title: 'get the latest checkpoint, 64 callers', count: 2_000 },
  { id: 'set', kind: 'kv', title: 'set a value, 64 callers', count: 4_000 },
  { id: 'get', kind: 'kv', title: 'get a value, 64 callers', count: 8_000 },
  { id: 'enqueue', kind: 'jobs', title: 'enqueue a job, 64 callers', count: 1_000 },
  { id: 'work64', kind: 'jobs', title: 'claim and complete a job, 64 workers', count: 1_000 },
  { id: 'work8', kind: 'jobs', title: 'claim and complete a job, 8 workers', count: 500 },
  { id: 'work1', kind: 'jobs', title: 'claim and complete a job, one worker', count: 200 },
] as const satisfies readonly Scenario[];

/** For each library, the promises that Tidemark keeps in the same scenarios and the library does not make. */
export const LACKS: Readonly<Record<string, string>> = {
  emmett: 'no idempotency keys, no hash chain; concurrent appends to one stream conflict and are retried here',
  'langgraph saver': 'no checksums',
  keyv: 'no compare-and-swap, no ordered keys, no checksums, no request ids',
  unstorage: 'no compare-and-swap, no ordered keys, no checksums, no request ids',
  bullmq: 'no checksums',
  'pg-boss': 'no fence: a late worker may complete a job that another one has; no checksums',
  'graphile-worker': 'completed jobs are deleted; no checksums',
};
