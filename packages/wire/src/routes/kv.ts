/** Records: whole records, single fields, conditional writes, scans and watches. */
import Type from 'typebox';
import { EVENT_STREAM } from '../media-types.ts';
import { jsonParameter, pageOf, pageQuery, RequestId } from '../schemas/common.ts';
import {
  Batch,
  BatchResult,
  CompareAndSwap,
  Counted,
  CountRecords,
  DeletedPrefix,
  DeletePrefix,
  Field,
  Filter,
  Found,
  KEY_RANGE,
  Keys,
  KvListed,
  PatchRecord,
  PutRecord,
  KvRecord as RecordSchema,
  SCAN_FORM,
  Scan,
  SetField,
  Swap,
  Swapped,
  SwapResult,
  Touch,
  Touched,
  WriteResult,
} from '../schemas/kv.ts';
import { LIVE_PARAMETERS } from './parameters.ts';
import { routes } from './route.ts';

const WRITE_PROBLEMS = ['PAYLOAD_TOO_LARGE', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'] as const;

const UNMET_CONDITION = { 412: 'CONFLICT: the record does not meet the condition' };

export const KV_ROUTES = routes({
  'GET /v1/kv': {
    scope: 'kv:read',
    summary: 'List records under a prefix in byte order of keys; live, only new changes',
    query: pageQuery({
      lastEventId: LIVE_PARAMETERS.lastEventId,
      prefix: Type.Optional(Type.String()),
      filter: Type.Optional(jsonParameter(Filter, 'A filter as JSON')),
      ...KEY_RANGE,
      ...SCAN_FORM,
    }),
    answers: { 200: pageOf(KvListed) },
    produces: [EVENT_STREAM],
    problems: ['UNSUPPORTED'],
  },
  'POST /v1/kv-scan': {
    scope: 'kv:read',
    summary: 'List records with a filter that is too long for a URL',
    readsList: true,
    body: Scan,
    answers: { 200: pageOf(KvListed) },
  },
  'POST /v1/kv-count': {
    scope: 'kv:read',
    summary: 'Count records under a prefix; `exact: false` means that there are at least that many',
    readsList: true,
    body: CountRecords,
    answers: { 200: Counted },
  },
  'POST /v1/kv-delete': {
    scope: 'kv:delete',
    summary: 'Delete up to `limit` records under a prefix; `next` continues with the following ones',
    body: DeletePrefix,
    answers: { 200: DeletedPrefix },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'POST /v1/kv-batch': {
    scope: 'kv:write',
    summary: 'Write up to 25 records in one step, or none if a condition does not hold; a delete also needs kv:delete',
    body: Batch,
    answers: { 200: BatchResult },
    problems: [...WRITE_PROBLEMS, 'UNSUPPORTED', 'CODEC_FAILED', 'CONFLICT'],
  },
  'POST /v1/kv-lookup': {
    scope: 'kv:read',
    summary: 'Get up to 1 000 records by key, with one result per key',
    readsList: true,
    body: Keys,
    answers: { 200: Found },
  },
  'GET /v1/kv/{key}': {
    scope: 'kv:read',
    summary: 'Get a record',
    answers: { 200: RecordSchema },
    problems: ['NOT_FOUND'],
  },
  'PUT /v1/kv/{key}': {
    scope: 'kv:write',
    summary: 'Replace a whole record; with If-None-Match: * only if it is absent',
    body: PutRecord,
    answers: { 200: WriteResult },
    problems: WRITE_PROBLEMS,
    refusals: UNMET_CONDITION,
  },
  'PATCH /v1/kv/{key}': {
    scope: 'kv:write',
    summary: 'Write some fields, where null removes one; with If-Match only if the record has that revision',
    body: PatchRecord,
    answers: { 200: WriteResult },
    problems: WRITE_PROBLEMS,
    refusals: UNMET_CONDITION,
  },
  'DELETE /v1/kv/{key}': {
    scope: 'kv:delete',
    summary: 'Remove a record',
    query: Type.Object({ requestId: RequestId }),
    answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'GET /v1/kv/{key}/fields/{field}': {
    scope: 'kv:read',
    summary: 'Get one field of a record',
    answers: { 200: Field },
    problems: ['NOT_FOUND'],
  },
  'PUT /v1/kv/{key}/fields/{field}': {
    scope: 'kv:write',
    summary: 'Write one field and keep the TTL',
    body: SetField,
    answers: { 200: WriteResult },
    problems: WRITE_PROBLEMS,
  },
  'POST /v1/kv/{key}/fields/{field}/compare-and-swap': {
    scope: 'kv:write',
    summary: 'Write a field if it has the expected bytes; null means absent',
    body: CompareAndSwap,
    answers: { 200: Swapped },
    problems: WRITE_PROBLEMS,
  },
  'POST /v1/kv/{key}/swap': {
    scope: 'kv:write',
    summary: 'Compare fields and revision, then write fields, in one step',
    body: Swap,
    answers: { 200: SwapResult },
    problems: WRITE_PROBLEMS,
  },
  'POST /v1/kv/{key}/touch': {
    scope: 'kv:write',
    summary: 'Set a new TTL; null removes it',
    body: Touch,
    answers: { 200: Touched },
    problems: ['OUTCOME_UNKNOWN'],
  },
});
