/** What documents 004, 001 and 002 ask of runs. */
import { type Clause, place } from './clause.ts';

const PROJECTOR = '`packages/runtime/test/projector.test.ts`';

export const DOCUMENT_004: readonly Clause[] = [
  ...place(
    '004 §2',
    ['MUST', 'append, fetch, stored snapshot and projection exist with the given fields and answers'],
    ['MUST', 'an event carries a version 4 UUID, the whole scope and a key'],
    ['MUST', 'an unknown run has no snapshot; its log is empty'],
  ),
  ...place(
    '004 §3.1',
    ['MUST', 'what is appended has neither sequence nor store time'],
    ['MUST', 'the answer to an append tells the sequence and time that were assigned'],
    ['MUST', 'what is read has both'],
  ),
  ...place(
    '004 §3.2',
    ['MUST', 'a key that the run has already gives the id, sequence and time of the stored event'],
    ['MUST', 'the answer is marked as idempotent and not persisted'],
    ['MUST NOT', 'a duplicate adds a row'],
  ),
  ...place(
    '004 §3.3',
    ['MUST', 'both attempt ids are required numbers'],
    ['MUST', 'logical attempts count from 1'],
    ['MUST', 'producers without the notion send engine attempt 1'],
  ),
  ...place(
    '004 §3.4',
    ['MUST', 'the producer’s time stays as it was sent'],
    ['MUST', 'the store’s time is stamped by the append authority at the commit'],
  ),
  ...place(
    '004 §4',
    ['MUST', 'sequences are unique in a run'],
    ['MUST', 'keys are unique in a run'],
    ['MUST', 'stored events never change'],
  ),
  ...place('004 §5', ['MUST', 'a store says which version of the contract it speaks']),
];

export const DOCUMENT_001: readonly Clause[] = [
  ...place(
    '001 §1',
    ['MUST', 'append, watermark fetch with a default of 1 000, snapshot and projection exist'],
    ['MUST', 'events of version 1 can be brought in, with their keys and their extra fields'],
  ),
  ...place('001 §2.1', ['MUST', 'sequences are unique in a run'], ['MUST', 'keys are unique in a run']),
  ...place('001 §2.2', ['MUST', 'sequences of a run strictly increase and are assigned by the store']),
  ...place(
    '001 §2.3',
    ['MUST NOT', 'events are changed or removed one by one'],
    ['MAY', 'whole runs are removed for retention'],
  ),
  ...place('001 §3.1', ['MUST', 'assignment holds under concurrent writers, whatever the strategy of the backend']),
  ...place('001 §3.2', ['MUST', 'a duplicate succeeds and gives the sequence that is there']),
  ...place('001 §4', ['MUST', 'events are fetched in ascending order of sequence']),
  ...place('001 §4.1', ['MUST', 'a reader that keeps a watermark and asks for what comes after it gets everything']),
  ...place(
    '001 §4.2',
    [
      'MUST',
      'a reader is never left with an event behind its watermark (RUN-2 replaces the example of the late event)',
    ],
    [
      'MUST',
      'a projector that meets a hole marks the run stale, resyncs and goes on',
      `${PROJECTOR}, \`packages/core/src/runs/snapshots.test.ts\``,
    ],
  ),
  ...place('001 §5', ['MUST', 'snapshots are derived from events and are no source of truth']),
  ...place('001 §5.1', ['MUST', 'a snapshot can be read from storage or projected on demand']),
  ...place(
    '001 §5.2',
    ['MUST', 'the projector lags by at most a second in normal operation', '`faults/projectors.ts`'],
    ['MUST', 'a lag above 5 s raises PROJECTOR_LAG_HIGH, above 10 s a resync', PROJECTOR],
  ),
  ...place('001 §6', [
    'MUST',
    'new event types and new optional fields are additions: they are stored, and consumers ignore unknown types',
  ]),
];

export const DOCUMENT_002: readonly Clause[] = [
  ...place(
    '002 §1',
    ['SHOULD', 'every envelope field is stored and read back'],
    [
      'SHOULD',
      'one table with unique (run, sequence) and unique (run, key)',
      '`packages/postgres/migrations/0001_runs.sql`, `packages/postgres/test/concurrency.test.ts`',
    ],
  ),
  ...place(
    '002 §2',
    ['SHOULD', 'appends of one run are serialised'],
    [
      'SHOULD',
      'by a locking read of the maximum or a sequence per run (RUN-3 replaces both: they fail when run)',
      '`packages/postgres/test/concurrency.test.ts`, `packages/postgres/test/isolation.test.ts`',
    ],
  ),
  ...place(
    '002 §3',
    ['SHOULD', 'an append that conflicts on the key gives the stored sequence'],
    [
      'SHOULD',
      'duplicates are told by the age of the row (RUN-4 forbids it)',
      'a store that does this is caught: `packages/conformance/src/broken/broken.test.ts`',
    ],
  ),
  ...place('002 §4', ['SHOULD', 'pages are read by watermark, ascending, with a limit']),
  ...place(
    '002 §5',
    ['SHOULD', 'a snapshot is kept up to date with the log'],
    [
      'SHOULD',
      'by a materialised view or trigger (RUN-13 replaces both: they fail when run)',
      '`packages/postgres/test/conformance-plain.test.ts`',
    ],
  ),
  ...place('002 §6', [
    'SHOULD',
    'partitions and indexes for large workloads',
    '`packages/postgres/test/conformance-installed.test.ts`, `packages/postgres/test/payload-index.test.ts`',
  ]),
];
