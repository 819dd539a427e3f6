/** Short-term memory by key. */
import type { JsonObject } from '@tidemark/core';
import Type from 'typebox';
import { json } from '../../http/answer.ts';
import { matchOf, tagOf, wantsAbsent } from '../../http/conditions.ts';
import { Refusal } from '../../http/refusal.ts';
import { MemoryInfo, MemoryRecord, SaveMemory } from '../../schemas/agents.ts';
import { pageOf, pageQuery, RequestId } from '../../schemas/common.ts';
import { route } from '../route.ts';

export const MEMORY_ROUTES = [
  route<{ prefix?: string; cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/memory',
      scope: 'agents:read',
      summary: 'Keys in byte order with version and time',
      query: pageQuery({ prefix: Type.Optional(Type.String()) }),
      answers: { 200: pageOf(MemoryInfo) },
    },
    async ({ store, query, options }) => {
      const { prefix, cursor, limit } = query;
      return json(await store.agents.listMemory({ ...options, prefix, cursor, limit }));
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/memory/{key}',
      scope: 'agents:read',
      summary: 'A memory state with its version',
      answers: { 200: MemoryRecord },
      problems: ['NOT_FOUND', 'CODEC_FAILED'],
    },
    async ({ store, params, options }) => {
      const record = await store.agents.getMemoryRecord(params.key!, options);
      if (record) return json(record, { etag: tagOf(record.version) });
      throw new Refusal(404, 'NOT_FOUND', 'There is no memory state of this key');
    },
  ),
  route<unknown, { state: JsonObject; ifVersion?: number; requestId?: string }>(
    {
      method: 'PUT',
      path: '/v1/memory/{key}',
      scope: 'agents:write',
      summary: 'Save a memory state; with If-Match only over that version, with If-None-Match: * only a new one',
      body: SaveMemory,
      storeChecksBody: true,
      answers: { 200: Type.Object({ version: Type.Integer() }) },
      problems: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, body, options, request }) => {
      const { state, requestId } = body;
      const ifVersion = body.ifVersion ?? matchOf(request) ?? (wantsAbsent(request) ? 0 : undefined);
      return json(await store.agents.saveMemoryState(params.key!, state, { ...options, ifVersion, requestId }));
    },
  ),
  route<{ requestId?: string }>(
    {
      method: 'DELETE',
      path: '/v1/memory/{key}',
      scope: 'agents:delete',
      summary: 'Remove a memory state; with If-Match only that version',
      query: Type.Object({ requestId: RequestId }),
      answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
      problems: ['VERSION_CONFLICT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query: { requestId }, options, request }) => {
      const deleting = { ...options, ifVersion: matchOf(request), requestId };
      return json({ deleted: await store.agents.deleteMemoryState(params.key!, deleting) });
    },
  ),
];
