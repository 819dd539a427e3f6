/** Records over HTTP. */
import {
  checkId,
  checkPrefix,
  corruptValue,
  type KvBatchResult,
  type KvChange,
  type KvEntry,
  type KvScanOptions,
  type KvScanPageOptions,
  type KvStore,
  type Page,
  type ScanFilter,
  TidemarkError,
} from '@tidemark/core/portable';
import {
  type AnswerTo,
  bytesOfWire,
  changeOfWire,
  entryOfWire,
  fieldsToWire,
  filterToWire,
  operationsToWire,
  RESET_EVENT,
  recordOfWire,
  targetOf,
  valueToWire,
  type WireRecord,
} from '@tidemark/wire';
import { type Encode, type FormsOf, methodsOf } from './calls.ts';
import { follow } from './live.ts';
import type { Transport } from './transport.ts';

const SCAN_PAGE = 200;
/** The first page of a scan is small, because the reader may need only the first records. */
const FIRST_PAGE = 16;

const FORMS = {
  get: { route: 'GET /v1/kv/{key}', takes: ['key', ['options?']], finds: true, answer: recordOrNull },
  getMany: {
    route: 'POST /v1/kv-lookup',
    takes: ['keys', ['options?']],
    encode: { keys: (keys) => (Array.isArray(keys) ? keys.map((key) => checkId(key, 'key')) : keys) },
    reads: true,
    answer: ({ items }: AnswerTo<'POST /v1/kv-lookup'>) => items.map(recordOrNull),
  },
  put: {
    route: 'PUT /v1/kv/{key}',
    takes: ['key', 'fields', ['options?', 'ttl', 'sealed', 'requestId']],
    encode: { fields: fieldsToWire },
  },
  delete: { route: 'DELETE /v1/kv/{key}', takes: ['key', ['options?', 'requestId']], answer: 'deleted' },
  getField: {
    route: 'GET /v1/kv/{key}/fields/{field}',
    takes: ['key', 'field', ['options?']],
    finds: true,
    answer: (found: AnswerTo<'GET /v1/kv/{key}/fields/{field}'> | null) => found && bytesOfWire(found.value),
  },
  setField: {
    route: 'PUT /v1/kv/{key}/fields/{field}',
    takes: ['key', 'field', 'value', ['options?', 'ifExists', 'sealed', 'requestId']],
    encode: { value: valueToWire },
  },
  setFields: {
    route: 'PATCH /v1/kv/{key}',
    takes: ['key', 'fields', ['options?', 'ifExists', 'sealed', 'requestId']],
    encode: { fields: fieldsToWire },
  },
  compareAndSwap: {
    route: 'POST /v1/kv/{key}/fields/{field}/compare-and-swap',
    takes: ['key', 'field', 'expected', 'next', ['options?', 'sealed', 'requestId']],
    encode: { expected: valueOrNull, next: valueOrNull },
    answer: 'swapped',
  },
  swap: {
    route: 'POST /v1/kv/{key}/swap',
    takes: ['key', ['change', 'expected', 'expectedRevision', 'set', 'ttl', 'sealed', 'requestId'], ['options?']],
    encode: { expected: fieldsToWire, set: fieldsToWire },
    answer: ({ swapped, record }: AnswerTo<'POST /v1/kv/{key}/swap'>) => ({ swapped, record: recordOrNull(record) }),
  },
  batch: {
    route: 'POST /v1/kv-batch',
    takes: ['operations', ['options?', 'requestId']],
    encode: { operations: operationsToWire },
    answer: ({ results, unmet }: AnswerTo<'POST /v1/kv-batch'>): KvBatchResult =>
      results
        ? { written: true, results }
        : { written: false, unmet: { ...unmet!, record: recordOrNull(unmet!.record) } },
  },
  touch: {
    route: 'POST /v1/kv/{key}/touch',
    takes: ['key', 'ttl', ['options?', 'requestId']],
    answer: 'touched',
  },
  scanPage: {
    route: 'POST /v1/kv-scan',
    takes: ['prefix', ['options?', 'filter', 'from', 'to', 'reverse', 'keysOnly', 'limit', 'cursor']],
    encode: { filter: filterToWire },
    reads: true,
    // The overloads of the contract declare entries without records as keys.
    answer: ({ items, ...rest }: AnswerTo<'POST /v1/kv-scan'>) =>
      ({ items: items.map(entryOfWire), ...rest }) as Page<KvEntry>,
  },
  count: {
    route: 'POST /v1/kv-count',
    takes: ['prefix', ['options?', 'filter', 'from', 'to']],
    encode: { filter: filterToWire },
    reads: true,
  },
  deletePrefix: {
    route: 'POST /v1/kv-delete',
    takes: ['prefix', ['options?', 'from', 'to', 'limit', 'cursor']],
  },
} as const satisfies FormsOf<'kv'>;

export function httpKv(transport: Transport): KvStore {
  const methods = methodsOf(transport, 'kv', FORMS);
  return {
    ...methods,

    async *scan(prefix: string, filter?: ScanFilter, options?: KvScanOptions): AsyncGenerator<KvEntry> {
      let damaged: string | undefined;
      let limit = FIRST_PAGE;
      for (let cursor: string | undefined; ; ) {
        const page = await methods.scanPage(prefix, { ...options, filter, limit, cursor } as KvScanPageOptions);
        yield* page.items;
        damaged ??= page.damaged?.[0];
        if (page.next === undefined) break;
        cursor = page.next;
        limit = SCAN_PAGE;
      }
      // Thrown at the end, so that one damaged record does not make the others unreadable.
      if (damaged !== undefined) throw corruptValue('record', damaged);
    },

    async *watch(prefix, options): AsyncGenerator<KvChange, void> {
      const request = { ...targetOf('GET /v1/kv'), query: { prefix: checkPrefix(prefix, 'prefix') } };
      for await (const { event, data } of follow(transport, request, options)) {
        if (event === RESET_EVENT)
          throw new TidemarkError(
            'UNAVAILABLE',
            'The watch was cut off for too long; scan the records and watch again',
          );
        yield changeOfWire(JSON.parse(data));
      }
    },
  };
}

/** `null` means that the field is absent. */
function valueOrNull(...given: Parameters<Encode>): unknown {
  return given[0] === null ? null : valueToWire(...given);
}

function recordOrNull(record: WireRecord | null) {
  return record && recordOfWire(record);
}
