/** Records over HTTP. */
import {
  checkDuration,
  checkId,
  checkInteger,
  checkLimit,
  checkObject,
  checkOptionalId,
  checkPrefix,
  corruptValue,
  Damage,
  invalidArgument,
  type KvChange,
  type KvEntry,
  type KvStore,
  type Page,
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

export function httpKv(transport: Transport, { fieldBytes }: StoreLimits): KvStore {
  const kv: KvStore = {
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
      const body = JSON.stringify({ fields: wire, ttl, requestId: requestIdOf(options) });
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
      const body = JSON.stringify({ value: wire, ifExists: options?.ifExists, requestId: requestIdOf(options) });
      const write = transport.writeOf('kv', 'setField', [key, field, value, options]);
      return transport.call({ ...to, body, write }, options);
    },

    async setFields(key, fields, options) {
      const to = targetOf('PATCH /v1/kv/{key}', { key });
      const wire = fieldsToWire(fields, 'fields', fieldBytes, { nulls: true });
      if (Object.keys(wire).length === 0) throw invalidArgument('fields', 'at least one field');
      const body = JSON.stringify({ fields: wire, ifExists: options?.ifExists, requestId: requestIdOf(options) });
      const write = transport.writeOf('kv', 'setFields', [key, fields, options]);
      return transport.call({ ...to, body, write }, options);
    },

    async compareAndSwap(key, field, expected, next, options) {
      const to = targetOf('POST /v1/kv/{key}/fields/{field}/compare-and-swap', { key, field });
      const toWire = (value: unknown, name: string) => (value === null ? null : valueToWire(value, name, fieldBytes));
      const wire = { expected: toWire(expected, 'expected'), next: toWire(next, 'next') };
      const body = JSON.stringify({ ...wire, requestId: requestIdOf(options) });
      const write = transport.writeOf('kv', 'compareAndSwap', [key, field, expected, next, options]);
      return (await transport.call({ ...to, body, write }, options)).swapped;
    },

    async swap(key, change, options) {
      const to = targetOf('POST /v1/kv/{key}/swap', { key });
      const it = checkObject(change, 'change');
      refuseOldNames('swap', it);
      const members = transport.named(to.route, {
        expected:
          it.expected === undefined ? undefined : fieldsToWire(it.expected, 'expected', fieldBytes, { nulls: true }),
        expectedRevision:
          it.expectedRevision === undefined ? undefined : checkInteger(it.expectedRevision, 'expectedRevision', 0),
        set: fieldsToWire(it.set, 'set', fieldBytes, { nulls: true }),
        ttl: it.ttl === undefined || it.ttl === null ? it.ttl : checkDuration(it.ttl, 'ttl'),
        requestId: requestIdOf(change),
      });
      const body = JSON.stringify(members);
      const request = { ...to, body, write: transport.writeOf('kv', 'swap', [key, change, options]) };
      const { swapped, record } = await transport.call(request, options);
      return { swapped, record: record && recordOfWire(record) };
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

    async *scan(prefix, filter, options) {
      const damage = new Damage();
      for (let cursor: string | undefined; ; ) {
        const page: Page<KvEntry> = await kv.scanPage(prefix, { ...options, filter, limit: SCAN_PAGE, cursor });
        yield* page.items;
        for (const key of page.damaged ?? []) damage.note(corruptValue('record', key));
        if (page.next === undefined) return damage.report();
        cursor = page.next;
      }
    },

    async scanPage(prefix, options) {
      checkPrefix(prefix, 'prefix');
      const limit = checkLimit(options?.limit, 100, 1_000);
      const cursor = options?.cursor;
      if (cursor !== undefined && typeof cursor !== 'string')
        throw invalidArgument('cursor', 'one that this list gave as `next`', cursor);
      const filter = filterToWire(options?.filter as ScanFilter | undefined, fieldBytes);
      const body = JSON.stringify({ prefix, filter, cursor, limit });
      const request = { ...targetOf('POST /v1/kv-scan'), body };
      const { items, ...rest } = await transport.call(request, options);
      return { items: items.map(entryOfWire), ...rest };
    },

    watch(prefix, options) {
      const query = { prefix: checkPrefix(prefix, 'prefix') };
      transport.startCall(options);
      return changesOf(follow(transport, { ...targetOf('GET /v1/kv'), query }, options));
    },
  };
  return kv;
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
