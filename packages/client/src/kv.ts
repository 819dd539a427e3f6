/** Records over HTTP. */
import {
  checkDuration,
  checkId,
  checkInteger,
  checkKeyRange,
  checkLimit,
  checkObject,
  checkOperations,
  checkOptionalBoolean,
  checkOptionalId,
  checkPrefix,
  checkSealed,
  corruptValue,
  Damage,
  type Duration,
  invalidArgument,
  type KvBatchOptions,
  type KvBatchResult,
  type KvChange,
  type KvCountOptions,
  type KvEntry,
  type KvOperation,
  type KvScanOptions,
  type KvScanPageOptions,
  type KvStore,
  type Page,
  type PageOptions,
  refuseOldNames,
  type ScanFilter,
  type StoreLimits,
  TidemarkError,
} from '@tidemark/core/portable';
import {
  bytesOfWire,
  changeOfWire,
  entryOfWire,
  fieldsToWire,
  filterToWire,
  RESET_EVENT,
  recordOfWire,
  type ServerEvent,
  targetOf,
  valueToWire,
} from '@tidemark/wire';
import { follow } from './live.ts';
import type { Transport } from './transport.ts';

const MAX_KEYS = 1_000;
const SCAN_PAGE = 200;
/** The first page of a scan is small, because the reader may need only the first records. */
const FIRST_PAGE = 16;

export function httpKv(transport: Transport, { fieldBytes }: StoreLimits): KvStore {
  async function scanPage(prefix: string, options?: KvScanPageOptions): Promise<Page<KvEntry>> {
    checkPrefix(prefix, 'prefix');
    const { filter, reverse, keysOnly, ...range }: KvScanPageOptions = { ...options };
    const form = {
      ...checkKeyRange(range),
      ...(checkOptionalBoolean(reverse, 'reverse') && { reverse: true }),
      ...(checkOptionalBoolean(keysOnly, 'keysOnly') && { keysOnly: true }),
    };
    // A server of version 0.1 would ignore these options and return other records.
    if (transport.usesOldNames && Object.keys(form).length > 0)
      throw new TidemarkError('UNSUPPORTED', 'The server is too old for ranges, reverse scans and scans of keys');
    const wire = { prefix, filter: filterToWire(filter, fieldBytes), ...form, ...checkPage(options) };
    const request = { ...targetOf('POST /v1/kv-scan'), body: JSON.stringify(wire) };
    const { items, ...rest } = await transport.call(request, options);
    // The overloads of the contract declare entries without records as keys.
    return { items: items.map(entryOfWire) as KvEntry[], ...rest };
  }

  /** Refuses the option for a server of version 0.1, which would ignore it and store plain values. */
  function sealedOf(sealed: unknown, written: Iterable<string>, field = 'sealed') {
    const checked = checkSealed(sealed, field, new Set(written));
    if (!checked || (checked !== true && checked.length === 0)) return undefined;
    if (!transport.usesOldNames) return checked;
    throw new TidemarkError('UNSUPPORTED', 'The server is too old for sealed fields', { field, rule: 'absent' });
  }

  function operationsToWire(operations: readonly KvOperation[]) {
    return checkOperations(operations).map(({ op, key, fields, expected, expectedRevision, ttl, ...rest }, at) => {
      const place = `operations[${at}].`;
      const toWire = (given: unknown, name: string, nulls: boolean) =>
        fieldsToWire(given, `${place}${name}`, fieldBytes, { nulls });
      const written = op === 'delete' ? undefined : toWire(fields, 'fields', op === 'setFields');
      if (written && Object.keys(written).length === 0) throw invalidArgument(`${place}fields`, 'at least one field');
      return {
        ...{ op, key, fields: written },
        ifExists: checkOptionalBoolean(rest.ifExists, `${place}ifExists`) || undefined,
        sealed: sealedOf(rest.sealed, Object.keys(written ?? {}), `${place}sealed`),
        expected: expected === undefined ? undefined : toWire(expected, 'expected', true),
        expectedRevision:
          expectedRevision === undefined ? undefined : checkInteger(expectedRevision, `${place}expectedRevision`, 0),
        ttl:
          ttl === undefined || (ttl === null && op === 'setFields')
            ? ttl
            : checkDuration(ttl as Duration, `${place}ttl`),
      };
    });
  }

  return {
    async get(key, options) {
      const record = await transport.find(targetOf('GET /v1/kv/{key}', { key }), options);
      return record && recordOfWire(record);
    },

    async getMany(keys, options) {
      if (!Array.isArray(keys) || keys.length > MAX_KEYS)
        throw invalidArgument('keys', `an array of at most ${MAX_KEYS} keys`);
      for (const key of keys) checkId(key, 'key');
      const request = { ...targetOf('POST /v1/kv-lookup'), body: JSON.stringify({ keys }) };
      const { items } = await transport.call(request, options);
      return items.map((record) => record && recordOfWire(record));
    },

    async put(key, fields, options) {
      const to = targetOf('PUT /v1/kv/{key}', { key });
      const wire = fieldsToWire(fields, 'fields', fieldBytes, { nulls: false });
      if (Object.keys(wire).length === 0)
        throw invalidArgument('fields', 'at least one field; use delete to remove a record');
      const ttl = options?.ttl === undefined ? undefined : checkDuration(options.ttl, 'ttl');
      const sealed = sealedOf(options?.sealed, Object.keys(wire));
      const body = JSON.stringify({ fields: wire, ttl, sealed, requestId: requestIdOf(options) });
      const write = transport.writeOf('kv', 'put', [key, fields, options]);
      return transport.call({ ...to, body, write }, options);
    },

    async delete(key, options) {
      const query = { requestId: requestIdOf(options) };
      const write = transport.writeOf('kv', 'delete', [key, options]);
      const request = { ...targetOf('DELETE /v1/kv/{key}', { key }), query, write };
      return (await transport.call(request, options)).deleted;
    },

    async getField(key, field, options) {
      const found = await transport.find(targetOf('GET /v1/kv/{key}/fields/{field}', { key, field }), options);
      return found && bytesOfWire(found.value);
    },

    async setField(key, field, value, options) {
      const to = targetOf('PUT /v1/kv/{key}/fields/{field}', { key, field });
      const wire = valueToWire(value, 'value', fieldBytes);
      const sealed = sealedOf(checkOptionalBoolean(options?.sealed, 'sealed'), [field]);
      const body = JSON.stringify({
        value: wire,
        ifExists: options?.ifExists,
        sealed,
        requestId: requestIdOf(options),
      });
      const write = transport.writeOf('kv', 'setField', [key, field, value, options]);
      return transport.call({ ...to, body, write }, options);
    },

    async setFields(key, fields, options) {
      const to = targetOf('PATCH /v1/kv/{key}', { key });
      const wire = fieldsToWire(fields, 'fields', fieldBytes, { nulls: true });
      if (Object.keys(wire).length === 0) throw invalidArgument('fields', 'at least one field');
      const sealed = sealedOf(options?.sealed, Object.keys(wire));
      const body = JSON.stringify({
        fields: wire,
        ifExists: options?.ifExists,
        sealed,
        requestId: requestIdOf(options),
      });
      const write = transport.writeOf('kv', 'setFields', [key, fields, options]);
      return transport.call({ ...to, body, write }, options);
    },

    async compareAndSwap(key, field, expected, next, options) {
      const to = targetOf('POST /v1/kv/{key}/fields/{field}/compare-and-swap', { key, field });
      const toWire = (value: unknown, name: string) => (value === null ? null : valueToWire(value, name, fieldBytes));
      const wire = { expected: toWire(expected, 'expected'), next: toWire(next, 'next') };
      const sealed = sealedOf(checkOptionalBoolean(options?.sealed, 'sealed'), [field]);
      const body = JSON.stringify({ ...wire, sealed, requestId: requestIdOf(options) });
      const write = transport.writeOf('kv', 'compareAndSwap', [key, field, expected, next, options]);
      return (await transport.call({ ...to, body, write }, options)).swapped;
    },

    async swap(key, change, options) {
      const to = targetOf('POST /v1/kv/{key}/swap', { key });
      const it = checkObject(change, 'change');
      refuseOldNames('swap', it);
      const set = fieldsToWire(it.set, 'set', fieldBytes, { nulls: true });
      const members = transport.named(to.route, {
        expected:
          it.expected === undefined ? undefined : fieldsToWire(it.expected, 'expected', fieldBytes, { nulls: true }),
        expectedRevision:
          it.expectedRevision === undefined ? undefined : checkInteger(it.expectedRevision, 'expectedRevision', 0),
        set,
        ttl: it.ttl === undefined || it.ttl === null ? it.ttl : checkDuration(it.ttl, 'ttl'),
        sealed: sealedOf(it.sealed, Object.keys(set)),
        requestId: requestIdOf(change),
      });
      const body = JSON.stringify(members);
      const request = { ...to, body, write: transport.writeOf('kv', 'swap', [key, change, options]) };
      const { swapped, record } = await transport.call(request, options);
      return { swapped, record: record && recordOfWire(record) };
    },

    async batch(operations: readonly KvOperation[], options?: KvBatchOptions): Promise<KvBatchResult> {
      const body = JSON.stringify({ operations: operationsToWire(operations), requestId: requestIdOf(options) });
      if (transport.usesOldNames)
        throw new TidemarkError('UNSUPPORTED', 'The server is too old for batches', { field: 'kv.atomicBatch' });
      const write = transport.writeOf('kv', 'batch', [operations, options]);
      const request = { ...targetOf('POST /v1/kv-batch'), body, write };
      const { results, unmet } = await transport.call(request, options);
      if (results) return { written: true, results };
      return { written: false, unmet: { ...unmet!, record: unmet!.record && recordOfWire(unmet!.record) } };
    },

    async touch(key, ttl, options) {
      const to = targetOf('POST /v1/kv/{key}/touch', { key });
      const requestId = requestIdOf(options);
      const body = JSON.stringify({ ttl: ttl === null ? null : checkDuration(ttl, 'ttl'), requestId });
      const request = {
        ...to,
        body,
        write: transport.writeOf('kv', 'touch', [key, ttl, options]),
      };
      return (await transport.call(request, options)).touched;
    },

    async *scan(prefix: string, filter?: ScanFilter, options?: KvScanOptions): AsyncGenerator<KvEntry> {
      const damage = new Damage();
      let limit = FIRST_PAGE;
      for (let cursor: string | undefined; ; ) {
        const page = await scanPage(prefix, { ...options, filter, limit, cursor });
        yield* page.items;
        for (const key of page.damaged ?? []) damage.note(corruptValue('record', key));
        if (page.next === undefined) return damage.report();
        cursor = page.next;
        limit = SCAN_PAGE;
      }
    },

    scanPage,

    async count(prefix, options) {
      checkPrefix(prefix, 'prefix');
      const { filter, ...range }: KvCountOptions = { ...options };
      const body = JSON.stringify({ prefix, filter: filterToWire(filter, fieldBytes), ...checkKeyRange(range) });
      return transport.call({ ...targetOf('POST /v1/kv-count'), body }, options);
    },

    async deletePrefix(prefix, options) {
      const range = { prefix: checkPrefix(prefix, 'prefix'), ...checkKeyRange({ ...options }) };
      const body = JSON.stringify({ ...range, ...checkPage(options) });
      const write = transport.writeOf('kv', 'deletePrefix', [prefix, options]);
      return transport.call({ ...targetOf('POST /v1/kv-delete'), body, write }, options);
    },

    watch(prefix, options) {
      const query = { prefix: checkPrefix(prefix, 'prefix') };
      transport.startCall(options);
      return changesOf(follow(transport, { ...targetOf('GET /v1/kv'), query }, options));
    },
  };
}

function checkPage(options: PageOptions | undefined) {
  const limit = checkLimit(options?.limit, 100, 1_000);
  const cursor = options?.cursor;
  if (cursor !== undefined && typeof cursor !== 'string')
    throw invalidArgument('cursor', 'one that this list gave as `next`', cursor);
  return { cursor, limit };
}

async function* changesOf(events: AsyncIterable<ServerEvent>): AsyncGenerator<KvChange, void, undefined> {
  for await (const { event, data } of events) {
    if (event === RESET_EVENT)
      throw new TidemarkError('UNAVAILABLE', 'The watch was cut off for too long; scan the records and watch again');
    yield changeOfWire(JSON.parse(data));
  }
}

function requestIdOf(options: { requestId?: string } | undefined): string | undefined {
  return checkOptionalId(options?.requestId, 'requestId') ?? undefined;
}
