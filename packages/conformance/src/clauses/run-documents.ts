/** The requirements of documents 004, 001 and 002 for runs. */
import { type Clause, section } from './clause.ts';

const PROJECTOR = '`packages/runtime/test/projector.test.ts`';

export const DOCUMENT_004: readonly Clause[] = [
  ...section(
    '004 §2',
    ['MUST', 'append, fetch, stored snapshot and projection exist with the specified fields and results'],
    ['MUST', 'an event carries a version 4 UUID, the whole scope and a key'],
    ['MUST', 'an unknown run has no snapshot; its log is empty'],
  ),
  ...section(
    '004 §3.1',
    ['MUST', 'an appended event has neither sequence nor store time'],
    ['MUST', 'the result of an append has the assigned sequence and time'],
    ['MUST', 'an event that is read has both'],
  ),
  ...section(
    '004 §3.2',
    ['MUST', 'a key that the run already has returns the id, sequence and time of the stored event'],
    ['MUST', 'the result is marked as idempotent and not persisted'],
    ['MUST NOT', 'a duplicate adds a row'],
  ),
  ...section(
    '004 §3.3',
    ['MUST', 'both attempt ids are required numbers'],
    ['MUST', 'logical attempts count from 1'],
    ['MUST', 'producers without engine attempts send 1'],
  ),
  ...section(
    '004 §3.4',
    ['MUST', 'the producer’s time is stored exactly as sent'],
    ['MUST', 'the append authority stamps the store’s time at commit'],
  ),
  ...section(
    '004 §4',
    ['MUST', 'sequences are unique in a run'],
    ['MUST', 'keys are unique in a run'],
    ['MUST', 'stored events never change'],
  ),
  ...section('004 §5', ['MUST', 'a store declares its version of the contract']),
];

export const DOCUMENT_001: readonly Clause[] = [
  ...section(
    '001 §1',
    ['MUST', 'append, watermark fetch with a default of 1 000, snapshot and projection exist'],
    ['MUST', 'version 1 events can be imported, with their keys and extra fields'],
  ),
  ...section('001 §2.1', ['MUST', 'sequences are unique in a run'], ['MUST', 'keys are unique in a run']),
  ...section('001 §2.2', ['MUST', 'sequences of a run strictly increase and are assigned by the store']),
  ...section(
    '001 §2.3',
    ['MUST NOT', 'events are changed or removed individually'],
    ['MAY', 'whole runs are removed for retention'],
  ),
  ...section('001 §3.1', ['MUST', 'assignment is correct with concurrent writers, whatever the backend’s strategy']),
  ...section('001 §3.2', ['MUST', 'a duplicate succeeds and returns the stored sequence']),
  ...section('001 §4', ['MUST', 'events are fetched in ascending order of sequence']),
  ...section('001 §4.1', ['MUST', 'a reader that keeps a watermark and reads after it gets every event']),
  ...section(
    '001 §4.2',
    ['MUST', 'no event ever appears behind a reader’s watermark (RUN-2 replaces the example of the late event)'],
    [
      'MUST',
      'a projector that finds a gap marks the run stale, resyncs and continues',
      `${PROJECTOR}, \`packages/core/src/runs/snapshots.test.ts\``,
    ],
  ),
  ...section('001 §5', ['MUST', 'snapshots are derived from events and are not a source of truth']),
  ...section('001 §5.1', ['MUST', 'a snapshot can be read from storage or projected on demand']),
  ...section(
    '001 §5.2',
    ['MUST', 'the projector lags by at most a second in normal operation', '`faults/projectors.ts`'],
    ['MUST', 'a lag above 5 s raises PROJECTOR_LAG_HIGH, above 10 s a resync', PROJECTOR],
  ),
  ...section('001 §6', [
    'MUST',
    'new event types and new optional fields are additions: they are stored, and consumers ignore unknown types',
  ]),
];

export const DOCUMENT_002: readonly Clause[] = [
  ...section(
    '002 §1',
    ['SHOULD', 'every envelope field is stored and read back'],
    [
      'SHOULD',
      'one table with unique (run, sequence) and unique (run, key)',
      '`packages/postgres/migrations/0001_runs.sql`, `packages/postgres/test/concurrency.test.ts`',
    ],
  ),
  ...section(
    '002 §2',
    ['SHOULD', 'appends of one run are serialised'],
    [
      'SHOULD',
      'sequences come from a locking read of the maximum or a sequence object per run (RUN-3 replaces both: they fail in practice)',
      '`packages/postgres/test/concurrency.test.ts`, `packages/postgres/test/isolation.test.ts`',
    ],
  ),
  ...section(
    '002 §3',
    ['SHOULD', 'an append with a stored key returns the stored sequence'],
    [
      'SHOULD',
      'duplicates are detected by the age of the row (RUN-4 forbids it)',
      'a broken store that does this fails: `packages/conformance/src/broken/broken.test.ts`',
    ],
  ),
  ...section('002 §4', ['SHOULD', 'pages are read by watermark, ascending, with a limit']),
  ...section(
    '002 §5',
    ['SHOULD', 'a snapshot is kept up to date with the log'],
    [
      'SHOULD',
      'snapshots are kept by a materialised view or trigger (RUN-13 replaces both: they fail in practice)',
      '`packages/postgres/test/conformance-plain.test.ts`',
    ],
  ),
  ...section('002 §6', [
    'SHOULD',
    'partitions and indexes for large workloads',
    '`packages/postgres/test/conformance-installed.test.ts`, `packages/postgres/test/payload-index.test.ts`',
  ]),
];
