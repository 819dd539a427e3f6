/** Records: whole records, single fields, conditional writes, scans and watches. */
import { type KvOperation, type KvRecord, type KvSwap, type ScanFilter, TidemarkError } from '@tidemark/core';
import { EVENT_STREAM } from '@tidemark/wire';
import { KV_ROUTES } from '@tidemark/wire/routes';
import { scopeMissing } from '../auth/admission.ts';
import { allows } from '../auth/scopes.ts';
import { type ANSWERED, json, mapInSlices } from '../http/answer.ts';
import { matchOf, tagOf, wantsAbsent } from '../http/conditions.ts';
import { bytesToWire, fieldsOfWire, filterOfWire, recordToWire, valueOfWire } from '../http/record-values.ts';
import { Refusal } from '../http/refusal.ts';
import { kvTopic } from '../streams/topics.ts';
import { lastEventIdOf, openStream } from './live.ts';
import { bind, type Call, type CallOf, wants } from './route.ts';

export const KV_HANDLERS = bind(KV_ROUTES, {
  'GET /v1/kv': (call) => (wants(call, EVENT_STREAM) ? watch(call) : scan(call, call.query)),
  'POST /v1/kv-scan': (call) => scan(call, call.body),
  'POST /v1/kv-count': async ({ store, body, options }) => {
    const { prefix, filter, ...range } = body;
    return json(await store.kv.count(prefix, { ...options, ...range, ...filterFrom(filter) }));
  },
  'POST /v1/kv-delete': async ({ store, body, options }) => {
    const { prefix, ...range } = body;
    return json(await store.kv.deletePrefix(prefix, { ...options, ...range }));
  },
  'POST /v1/kv-batch': async ({ store, principal, body: { operations, requestId }, options }) => {
    const deletes = operations.some(({ op }) => op === 'delete');
    if (deletes && !allows(principal.scopes, 'kv:delete')) throw scopeMissing('kv:delete');
    const result = await store.kv.batch(operations.map(operationOfWire), { ...options, requestId });
    if (result.written) return json(result);
    const { record, ...unmet } = result.unmet;
    return json({ written: false, unmet: { ...unmet, record: record && recordToWire(record) } });
  },
  'POST /v1/kv-lookup': async ({ store, body, options }) => {
    const records = await store.kv.getMany(body.keys, options);
    return json({ items: await mapInSlices(records, (record) => record && recordToWire(record)) });
  },
  'GET /v1/kv/{key}': async ({ store, params, options }) => {
    const record = await store.kv.get(params.key, options);
    if (record) return json(recordToWire(record), { etag: tagOf(record.revision) });
    throw new Refusal(404, 'NOT_FOUND', 'There is no such record');
  },
  'PUT /v1/kv/{key}': async ({ store, params, body, options, request }) => {
    const { ttl, sealed, requestId } = body;
    const fields = fieldsOfWire(body.fields, 'fields');
    if (!wantsAbsent(request))
      return json(await store.kv.put(params.key, fields, { ...options, ttl, sealed, requestId }));
    const swap: KvSwap = { expectedRevision: 0, set: fields, sealed, requestId, ...(ttl === undefined ? {} : { ttl }) };
    const { swapped, record } = await store.kv.swap(params.key, swap, options);
    if (!swapped) throw preconditionFailed(record);
    return json({ written: true, revision: record?.revision ?? null });
  },
  'PATCH /v1/kv/{key}': async ({ store, params, body, options, request }) => {
    const { ifExists, sealed, requestId } = body;
    const fields = fieldsOfWire(body.fields, 'fields');
    const expectedRevision = matchOf(request);
    if (expectedRevision === undefined) {
      return json(await store.kv.setFields(params.key, fields, { ...options, ifExists, sealed, requestId }));
    }
    const swap: KvSwap = { expectedRevision, set: fields, sealed, requestId };
    const { swapped, record } = await store.kv.swap(params.key, swap, options);
    if (!swapped) throw preconditionFailed(record);
    return json({ written: true, revision: record?.revision ?? null });
  },
  'DELETE /v1/kv/{key}': async ({ store, params, query: { requestId }, options }) =>
    json({ deleted: await store.kv.delete(params.key, { ...options, requestId }) }),
  'GET /v1/kv/{key}/fields/{field}': async ({ store, params, options }) => {
    const value = await store.kv.getField(params.key, params.field, options);
    if (value) return json({ value: bytesToWire(value) });
    throw new Refusal(404, 'NOT_FOUND', 'There is no such field');
  },
  'PUT /v1/kv/{key}/fields/{field}': async ({ store, params, body, options }) => {
    const { ifExists, sealed, requestId } = body;
    const value = valueOfWire(body.value, 'value');
    return json(await store.kv.setField(params.key, params.field, value, { ...options, ifExists, sealed, requestId }));
  },
  'POST /v1/kv/{key}/fields/{field}/compare-and-swap': async ({ store, params, body, options }) => {
    const [expected, next] = (['expected', 'next'] as const).map((name) => {
      const value = body[name];
      return value === null ? null : valueOfWire(value, name);
    });
    const { sealed, requestId } = body;
    const swapping = { ...options, sealed, requestId };
    return json({
      swapped: await store.kv.compareAndSwap(params.key, params.field, expected!, next!, swapping),
    });
  },
  'POST /v1/kv/{key}/swap': async ({ store, params, body, options }) => {
    const { expected, set, ...rest } = body;
    const swap: KvSwap = { ...rest, set: fieldsOfWire(set, 'set') };
    if (expected !== undefined) swap.expected = fieldsOfWire(expected, 'expected');
    const { swapped, record } = await store.kv.swap(params.key, swap, options);
    return json({ swapped, record: record && recordToWire(record) });
  },
  'POST /v1/kv/{key}/touch': async ({ store, params, body: { ttl, requestId }, options }) =>
    json({ touched: await store.kv.touch(params.key, ttl, { ...options, requestId }) }),
});

/** The store refuses members that do not belong to the operation. */
function operationOfWire(
  { fields, expected, ...rest }: CallOf<'POST /v1/kv-batch'>['body']['operations'][number],
  at: number,
): KvOperation {
  const operation: Record<string, unknown> = rest;
  if (fields !== undefined) operation.fields = fieldsOfWire(fields, `operations[${at}].fields`);
  if (expected !== undefined) operation.expected = fieldsOfWire(expected, `operations[${at}].expected`);
  return operation as unknown as KvOperation;
}

async function scan(
  { store, options }: Pick<Call, 'store' | 'options'>,
  wanted: Partial<CallOf<'POST /v1/kv-scan'>['body']>,
) {
  const { prefix = '', cursor, limit, from, to, reverse, keysOnly } = wanted;
  const page = { ...options, cursor, limit, from, to, reverse, ...filterFrom(wanted.filter) };
  if (keysOnly) return json(await store.kv.scanPage(prefix, { ...page, keysOnly }));
  const { items, ...rest } = await store.kv.scanPage(prefix, page);
  const entries = await mapInSlices(items, ({ key, record }) => ({ key, record: recordToWire(record) }));
  return json({ items: entries, ...rest });
}

function filterFrom(filter: CallOf<'POST /v1/kv-scan'>['body']['filter']): { filter?: ScanFilter } {
  return filter === undefined ? {} : { filter: filterOfWire(filter) };
}

function watch(call: CallOf<'GET /v1/kv'>): typeof ANSWERED {
  const { store, query, services } = call;
  if (!store.info.capabilities['kv.watch'])
    throw new TidemarkError('UNSUPPORTED', 'This store has no kv.watch; see info.capabilities for what it has', {
      field: 'kv.watch',
      rule: 'a capability of the store',
    });
  const topic = services.hub.topic(kvTopic(store, query.prefix ?? ''));
  return openStream(call, [{ topic, after: lastEventIdOf(call) ?? null }]);
}

function preconditionFailed(record: KvRecord | null): Refusal {
  const current = record && recordToWire(record);
  return new Refusal(412, 'CONFLICT', 'The record is not as the condition says', { field: 'if-match', current });
}
