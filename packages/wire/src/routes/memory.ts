/** Short-term memory, by key. */
import Type from 'typebox';
import { MemoryInfo, MemoryRecord, SaveMemory } from '../schemas/agents.ts';
import { pageOf, pageQuery, RequestId } from '../schemas/common.ts';
import { routes } from './route.ts';

export const MEMORY_ROUTES = routes({
  'GET /v1/memory': {
    scope: 'agents:read',
    summary: 'List keys in byte order, with version and time',
    query: pageQuery({ prefix: Type.Optional(Type.String()) }),
    answers: { 200: pageOf(MemoryInfo) },
  },
  'GET /v1/memory/{key}': {
    scope: 'agents:read',
    summary: 'Get a memory state and its version',
    answers: { 200: MemoryRecord },
    problems: ['NOT_FOUND', 'CODEC_FAILED'],
  },
  'PUT /v1/memory/{key}': {
    scope: 'agents:write',
    summary:
      'Save a memory state; with If-Match only if it has that version, with If-None-Match: * only if it is absent',
    body: SaveMemory,
    storeChecksBody: true,
    answers: { 200: Type.Object({ version: Type.Integer() }) },
    problems: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'DELETE /v1/memory/{key}': {
    scope: 'agents:delete',
    summary: 'Remove a memory state; with If-Match only if it has that version',
    query: Type.Object({ requestId: RequestId }),
    answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
    problems: ['VERSION_CONFLICT', 'OUTCOME_UNKNOWN'],
  },
});
