/** The scenarios, and the promises that other libraries do not make, as data. */
import type { Contenders } from './kinds.ts';

export type Kind = keyof Contenders;

export type Scenario = {
  [It in Kind]: {
    id: string;
    kind: It;
    /** For tables: `append an event, 64 callers over 1 000 runs`. */
    title: string;
    /** Operations per round. */
    count: number;
    /** The operation that a neighbour may not have. Without it, the scenario is not measured beside the neighbour. */
    needs?: keyof Contenders[It];
  };
}[Kind];

export const SCENARIOS: readonly Scenario[] = [
  { id: 'append', kind: 'events', title: 'append an event, 64 callers, 1 000 runs', count: 4_000 },
  { id: 'hot', kind: 'events', title: 'append an event, 64 callers, one run', count: 640 },
  { id: 'lone', kind: 'events', title: 'append an event, one caller', count: 300 },
  { id: 'batch', kind: 'events', title: 'append 100 events together', count: 60, needs: 'appendMany' },
  {
    ...{ id: 'repeated', kind: 'events', count: 4_000, needs: 'appendOnce' },
    title: 'append an event, 64 callers, 20 % with a stored key',
  },
  { id: 'read', kind: 'events', title: 'read 1 000 events of a run', count: 40, needs: 'read' },
  { id: 'tail', kind: 'events', title: 'append an event and receive it in a tail', count: 100, needs: 'follow' },
  { id: 'snapshot', kind: 'events', title: 'read the state of a run of 100 events', count: 2_000, needs: 'snapshot' },
  { id: 'put', kind: 'checkpoints', title: 'put a checkpoint, 64 threads', count: 1_000 },
  { id: 'latest', kind: 'checkpoints', title: 'get the latest checkpoint, 64 callers', count: 2_000 },
  { id: 'set', kind: 'kv', title: 'set a value, 64 callers', count: 4_000 },
  { id: 'get', kind: 'kv', title: 'get a value, 64 callers', count: 8_000 },
  { id: 'swap', kind: 'kv', title: 'compare and swap a value, 64 callers', count: 4_000, needs: 'swap' },
  { id: 'enqueue', kind: 'jobs', title: 'enqueue a job, 64 callers', count: 1_000, needs: 'enqueue' },
  { id: 'work64', kind: 'jobs', title: 'claim and complete a job, 64 workers', count: 1_000, needs: 'work' },
  { id: 'work8', kind: 'jobs', title: 'claim and complete a job, 8 workers', count: 500, needs: 'work' },
  { id: 'work1', kind: 'jobs', title: 'claim and complete a job, one worker', count: 200, needs: 'work' },
  { id: 'sweep', kind: 'jobs', title: 'return a lapsed job to the queue, among 5 000', count: 100, needs: 'sweep' },
  { id: 'pause', kind: 'pauses', title: 'save and consume a pause, 64 callers', count: 1_000 },
  { id: 'save', kind: 'memory', title: 'save a memory state of 4 KB, 64 callers', count: 1_000 },
  { id: 'load', kind: 'memory', title: 'load a memory state of 4 KB, 64 callers', count: 2_000 },
];

const NO_EVENT_PROMISES = 'no idempotency keys, no hash chain, no fence';
const NO_KV_PROMISES = 'no compare-and-swap, no order of keys, no checksums, no request ids';
const NO_MEMORY_PROMISES = 'no versions, no conditional save, no checksums, no request ids';
const BARE = 'the ceiling: one statement per call, nothing of what a library adds';

/**
 * For each neighbour, or for one kind of it, what Tidemark promises in the same scenarios and the neighbour does not.
 * Also how it was used where that bears on the figure.
 */
const LACKS: Readonly<Record<string, string>> = {
  emmett:
    'no idempotency keys, no hash chain; concurrent appends to one stream conflict and are retried here; consumers poll every 50 ms; the state is folded on every read',
  'message-db':
    'no hash chain; a repeated key is an error, handled here; a batch is many calls in one transaction; writers of one category, here all, wait for each other',
  'dbos events': `${NO_EVENT_PROMISES}; an event is a step, stored from within its workflow; a batch is 100 commits; the state is the status without the steps`,
  'dbos stream': `${NO_EVENT_PROMISES}; values are stored from within their workflow`,
  'dbos jobs':
    'no lease: a crashed job runs again when its executor is recovered; no checksums; queues polled every 100 ms',
  'dbos pauses': 'no expiry of a pause, no claim that can be released; no checksums',
  'openworkflow events': `${NO_EVENT_PROMISES}; an event is a step of two commits, stored from within its workflow; at most 1 000 per run; both with at most 64 open runs`,
  'openworkflow jobs': 'no priorities, no checksums',
  'openworkflow pauses': 'a signal sent before the wait is dropped; workers poll; no checksums',
  'langgraph saver': 'no checksums',
  'langgraph store': NO_MEMORY_PROMISES,
  'keyv kv': NO_KV_PROMISES,
  'keyv memory': NO_MEMORY_PROMISES,
  'unstorage kv': `${NO_KV_PROMISES}; one connection`,
  'unstorage memory': `${NO_MEMORY_PROMISES}; one connection`,
  bullmq: 'no checksums',
  'pg-boss': 'no fence: a late worker may complete a job that another one has; no checksums',
  'graphile-worker': 'completed jobs are deleted; no checksums',
  'bare pg': BARE,
  'bare redis': BARE,
  'bare node:sqlite': BARE,
};

/** Whether a contender is a bare driver, which is a ceiling and no neighbour. */
export const isBare = (contender: string) => LACKS[contender] === BARE;

/** Returns the promises that a neighbour does not make in a scenario. */
export function lacksOf(scenario: string, contender: string): string {
  const kind = SCENARIOS.find(({ id }) => id === scenario)?.kind;
  return LACKS[`${contender} ${kind}`] ?? LACKS[contender] ?? '';
}
