/** The requirements of document 003 for KV and for jobs on KV. */
import { type Clause, section } from './clause.ts';

export const DOCUMENT_003: readonly Clause[] = [
  ...section('003 connect', [
    'MUST',
    'a store is opened from a configuration',
    'the kit receives an open store; `packages/tidemark/src/open.test.ts`',
  ]),
  ...section('003 close', ['MUST', 'a store can be closed; acknowledged writes remain if the engine is durable']),
  ...section('003 get', ['MUST', 'get returns the whole record or nothing']),
  ...section('003 put', ['MUST', 'put writes a whole record, optionally with a time to live']),
  ...section('003 delete', ['MUST', 'delete removes a record']),
  ...section('003 get_field', ['MUST', 'a single field can be read']),
  ...section('003 set_field', [
    'MUST',
    'a single field can be written without reading the record, even by concurrent writers',
  ]),
  ...section('003 set_fields', ['MUST', 'several fields are written together']),
  ...section('003 compare_and_swap', [
    'MUST',
    'a field is swapped only if it has the expected bytes; exactly one of several swappers wins',
  ]),
  ...section('003 scan', ['MUST', 'records under a prefix are iterated with their keys']),
  ...section('003 ping', ['MUST', 'ping reports whether the engine responds']),
  ...section('003 Record', ['MUST', 'a record has fields of bytes and its remaining time to live']),
  ...section('003 ScanFilter', [
    'MUST',
    'a filter compares one field by eq, lt or gt and may limit the number of results',
  ]),
  ...section('003 ttl', ['MUST', 'the time to live can be set and cleared later']),
  ...section('003 Task State Record', ['MUST', 'a job is the record of its key, with the fields specified there']),
  ...section('003 Worker claiming', ['MUST', 'of several workers that claim a job exactly one wins']),
  ...section('003 Step completion', ['MUST', 'state, step and times are updated together']),
  ...section('003 Job completion', ['MUST', 'completing a job clears its timeout in the same write']),
  ...section(
    '003 Sweeper scan',
    ['MUST', 'stuck jobs are found by state and time of the last change'],
    ['MUST', 'each is queued again and its time reset'],
  ),
  ...section('003 signals', [
    'MUST',
    'queue, progress and terminal events are published after the write',
    '`packages/runtime/test/sweeper.test.ts`, `packages/runtime/test/worker.test.ts`, `packages/runtime/test/publishers.test.ts`',
  ]),
  ...section('003 NATS notes', [
    'MUST',
    'TTL per key and field operations work even if the engine lacks them',
    'the same cases on NATS: `packages/nats/test/conformance-kv.test.ts`',
  ]),
];
