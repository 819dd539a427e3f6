/** What document 003 asks of KV and of the work built on it. */
import { type Clause, place } from './clause.ts';

export const DOCUMENT_003: readonly Clause[] = [
  ...place('003 connect', [
    'MUST',
    'a store is opened from a configuration',
    'the kit is handed an open store; `packages/tidemark/src/open.test.ts`',
  ]),
  ...place('003 close', ['MUST', 'a store is closed; what was acknowledged outlives it where the engine is durable']),
  ...place('003 get', ['MUST', 'get gives the whole record or nothing']),
  ...place('003 put', ['MUST', 'put writes a whole record, with a time to live if one is given']),
  ...place('003 delete', ['MUST', 'delete removes a record']),
  ...place('003 get_field', ['MUST', 'one field can be read alone']),
  ...place('003 set_field', [
    'MUST',
    'one field can be written without reading the record, also by several writers at once',
  ]),
  ...place('003 set_fields', ['MUST', 'several fields are written at once']),
  ...place('003 compare_and_swap', [
    'MUST',
    'a field is swapped only if it has the expected bytes; exactly one of several swappers wins',
  ]),
  ...place('003 scan', ['MUST', 'records under a prefix are iterated with their keys']),
  ...place('003 ping', ['MUST', 'ping tells whether the engine answers']),
  ...place('003 Record', ['MUST', 'a record is fields of bytes and the time it has left to live']),
  ...place('003 ScanFilter', [
    'MUST',
    'a filter compares one field by eq, lt or gt and may limit the number of results',
  ]),
  ...place('003 ttl', ['MUST', 'the time to live can be set and cleared later']),
  ...place('003 Task State Record', ['MUST', 'a job is the record of its key, with the fields named there']),
  ...place('003 Worker claiming', ['MUST', 'of several workers that claim a job one wins']),
  ...place('003 Step completion', ['MUST', 'state, step and times are updated together']),
  ...place('003 Job completion', ['MUST', 'completing a job clears its timeout in the same write']),
  ...place(
    '003 Sweeper scan',
    ['MUST', 'stuck jobs are found by state and time of the last change'],
    ['MUST', 'each is pushed again and its time reset'],
  ),
  ...place('003 signals', [
    'MUST',
    'queue, progress and terminal events are published after the write',
    '`packages/runtime/test/sweeper.test.ts`, `packages/runtime/test/worker.test.ts`, `packages/runtime/test/publishers.test.ts`',
  ]),
  ...place('003 NATS notes', [
    'MUST',
    'TTL per key and field operations where the engine has none',
    'the same cases on NATS: `packages/nats/test/conformance-kv.test.ts`',
  ]),
];
