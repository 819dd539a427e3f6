/** Records: whole ones, single fields, conditional writes, scans and watches. */
import { type KvRecord, type KvSwap, TidemarkError } from '@tidemark/core';
import Type from 'typebox';
import { type ANSWERED, EVENT_STREAM, json } from '../http/answer.ts';
import { matchOf, tagOf, wantsAbsent } from '../http/conditions.ts';
import { Refusal } from '../http/refusal.ts';
import { jsonParameter, pageOf, pageQuery, RequestId } from '../schemas/common.ts';
import {
  CompareAndSwap,
  Field,
  Filter,
  Found,
  Keys,
  KvEntry,
  PatchRecord,
  PutRecord,
  KvRecord as RecordSchema,
  Scan,
  SetField,
  Swap,
  Swapped,
  SwapResult,
  Touch,
  Touched,
  WriteResult,
} from '../schemas/kv.ts';
import {
  bytesToWire,
  fieldsOfWire,
  filterOfWire,
  recordToWire,
  valueOfWire,
  type WireFilter,
  type WireValue,
} from '../schemas/kv-wire.ts';
import { kvTopic } from '../streams/topics.ts';
import { LIVE_PARAMETERS, type LiveQuery, lastEventIdOf, openStream } from './live.ts';
import { type Call, route, wants } from './route.ts';

type WireFields = Record<string, WireValue>;
type WireChanges = Record<string, WireValue | null>;
interface ScanQuery {
  prefix?: string;
  filter?: WireFilter;
  cursor?: string;
  limit?: number;
}

const WRITE_PROBLEMS = ['PAYLOAD_TOO_LARGE', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'] as const;

const UNMET_CONDITION = { 412: 'CONFLICT: the record is not as the condition says' };

export const KV_ROUTES = [
  route<ScanQuery & LiveQuery>(
    {
      method: 'GET',
      path: '/v1/kv',
      scope: 'kv:read',
      summary: 'Records under a prefix in byte order of keys; live: their changes from now on',
      query: pageQuery({
        lastEventId: LIVE_PARAMETERS.lastEventId,
        prefix: Type.Optional(Type.String()),
        filter: Type.Optional(jsonParameter(Filter, 'A filter as JSON')),
      }),
      answers: { 200: pageOf(KvEntry) },
      gives: [EVENT_STREAM],
      problems: ['UNSUPPORTED'],
    },
    (call) => (wants(call, EVENT_STREAM) ? watch(call) : scan(call, call.query)),
  ),
  route<unknown, ScanQuery>(
    {
      method: 'POST',
      path: '/v1/kv-scan',
      scope: 'kv:read',
      summary: 'The same with a filter that is too long for a URL',
      body: Scan,
      answers: { 200: pageOf(KvEntry) },
    },
    (call) => scan(call, call.body),
  ),
  route<unknown, { keys: string[] }>(
    {
      method: 'POST',
      path: '/v1/kv-lookup',
      scope: 'kv:read',
      summary: 'Up to 1 000 records by their keys, one answer a key',
      body: Keys,
      answers: { 200: Found },
    },
    async ({ store, body, options }) => {
      const records = await store.kv.getMany(body.keys, options);
      return json({ items: records.map((record) => record && recordToWire(record)) });
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/kv/{key}',
      scope: 'kv:read',
      summary: 'A record',
      answers: { 200: RecordSchema },
      problems: ['NOT_FOUND'],
    },
    async ({ store, params, options }) => {
      const record = await store.kv.get(params.key!, options);
      if (record) return json(recordToWire(record), { etag: tagOf(record.revision) });
      throw new Refusal(404, 'NOT_FOUND', 'There is no such record');
    },
  ),
  route<unknown, { fields: WireFields; ttl?: number | string; requestId?: string }>(
    {
      method: 'PUT',
      path: '/v1/kv/{key}',
      scope: 'kv:write',
      summary: 'Replace a whole record; with If-None-Match: * only where there is none',
      body: PutRecord,
      answers: { 200: WriteResult },
      problems: WRITE_PROBLEMS,
      refusals: UNMET_CONDITION,
    },
    async ({ store, params, body, options, request }) => {
      const { ttl, requestId } = body;
      const fields = fieldsOfWire(body.fields, 'fields');
      if (!wantsAbsent(request)) return json(await store.kv.put(params.key!, fields, { ...options, ttl, requestId }));
      const swap: KvSwap = { revision: 0, set: fields, requestId, ...(ttl === undefined ? {} : { ttl }) };
      const { swapped, record } = await store.kv.swap(params.key!, swap, options);
      if (!swapped) throw preconditionFailed(record);
      return json({ written: true, revision: record?.revision ?? null });
    },
  ),
  route<unknown, { fields: WireChanges; ifExists?: boolean; requestId?: string }>(
    {
      method: 'PATCH',
      path: '/v1/kv/{key}',
      scope: 'kv:write',
      summary: 'Write some fields, null removes one; with If-Match only while the record has that revision',
      body: PatchRecord,
      answers: { 200: WriteResult },
      problems: WRITE_PROBLEMS,
      refusals: UNMET_CONDITION,
    },
    async ({ store, params, body, options, request }) => {
      const { ifExists, requestId } = body;
      const fields = fieldsOfWire(body.fields, 'fields');
      const revision = matchOf(request);
      if (revision === undefined) {
        return json(await store.kv.setFields(params.key!, fields, { ...options, ifExists, requestId }));
      }
      const { swapped, record } = await store.kv.swap(params.key!, { revision, set: fields, requestId }, options);
      if (!swapped) throw preconditionFailed(record);
      return json({ written: true, revision: record?.revision ?? null });
    },
  ),
  route<{ requestId?: string }>(
    {
      method: 'DELETE',
      path: '/v1/kv/{key}',
      scope: 'kv:delete',
      summary: 'Remove a record',
      query: Type.Object({ requestId: RequestId }),
      answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query: { requestId }, options }) =>
      json({ deleted: await store.kv.delete(params.key!, { ...options, requestId }) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/kv/{key}/fields/{field}',
      scope: 'kv:read',
      summary: 'One field of a record',
      answers: { 200: Field },
      problems: ['NOT_FOUND'],
    },
    async ({ store, params, options }) => {
      const value = await store.kv.getField(params.key!, params.field!, options);
      if (value) return json({ value: bytesToWire(value) });
      throw new Refusal(404, 'NOT_FOUND', 'There is no such field');
    },
  ),
  route<unknown, { value: WireValue; ifExists?: boolean; requestId?: string }>(
    {
      method: 'PUT',
      path: '/v1/kv/{key}/fields/{field}',
      scope: 'kv:write',
      summary: 'Write one field and keep the time to live',
      body: SetField,
      answers: { 200: WriteResult },
      problems: WRITE_PROBLEMS,
    },
    async ({ store, params, body, options }) => {
      const { ifExists, requestId } = body;
      const value = valueOfWire(body.value, 'value');
      return json(await store.kv.setField(params.key!, params.field!, value, { ...options, ifExists, requestId }));
    },
  ),
  route<unknown, { expected: WireValue | null; next: WireValue | null; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/kv/{key}/fields/{field}/compare-and-swap',
      scope: 'kv:write',
      summary: 'Write a field if it has the expected bytes; null means absent',
      body: CompareAndSwap,
      answers: { 200: Swapped },
      problems: WRITE_PROBLEMS,
    },
    async ({ store, params, body, options }) => {
      const [expected, next] = (['expected', 'next'] as const).map((name) => {
        const value = body[name];
        return value === null ? null : valueOfWire(value, name);
      });
      const { requestId } = body;
      const swapping = { ...options, requestId };
      return json({
        swapped: await store.kv.compareAndSwap(params.key!, params.field!, expected!, next!, swapping),
      });
    },
  ),
  route<unknown, Omit<KvSwap, 'expect' | 'set'> & { expect?: WireChanges; set: WireChanges }>(
    {
      method: 'POST',
      path: '/v1/kv/{key}/swap',
      scope: 'kv:write',
      summary: 'Compare fields and revision, then write fields, in one step',
      body: Swap,
      answers: { 200: SwapResult },
      problems: WRITE_PROBLEMS,
    },
    async ({ store, params, body, options }) => {
      const { expect, set, ...rest } = body;
      const swap: KvSwap = { ...rest, set: fieldsOfWire(set, 'set') };
      if (expect !== undefined) swap.expect = fieldsOfWire(expect, 'expect');
      const { swapped, record } = await store.kv.swap(params.key!, swap, options);
      return json({ swapped, record: record && recordToWire(record) });
    },
  ),
  route<unknown, { ttl: number | string | null; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/kv/{key}/touch',
      scope: 'kv:write',
      summary: 'Set a new time to live, or with null none',
      body: Touch,
      answers: { 200: Touched },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, params, body: { ttl, requestId }, options }) =>
      json({ touched: await store.kv.touch(params.key!, ttl, { ...options, requestId }) }),
  ),
];

async function scan({ store, options }: Pick<Call, 'store' | 'options'>, wanted: ScanQuery) {
  const { prefix = '', cursor, limit } = wanted;
  const filter = wanted.filter === undefined ? {} : { filter: filterOfWire(wanted.filter) };
  const { items, ...rest } = await store.kv.scanPage(prefix, { ...options, cursor, limit, ...filter });
  return json({ items: items.map(({ key, record }) => ({ key, record: recordToWire(record) })), ...rest });
}

function watch(call: Call<ScanQuery & LiveQuery>): typeof ANSWERED {
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
