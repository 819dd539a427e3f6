/** Short-term memory, by key. */
import { MEMORY_ROUTES } from '@tidemark/wire/routes';
import { json } from '../../http/answer.ts';
import { matchOf, tagOf, wantsAbsent } from '../../http/conditions.ts';
import { Refusal } from '../../http/refusal.ts';
import { bind } from '../route.ts';

export const MEMORY_HANDLERS = bind(MEMORY_ROUTES, {
  'GET /v1/memory': async ({ store, query, options }) => {
    const { prefix, cursor, limit } = query;
    return json(await store.agents.listMemory({ ...options, prefix, cursor, limit }));
  },
  'GET /v1/memory/{key}': async ({ store, params, options }) => {
    const record = await store.agents.getMemoryRecord(params.key, options);
    if (record) return json(record, { etag: tagOf(record.version) });
    throw new Refusal(404, 'NOT_FOUND', 'There is no memory state with this key');
  },
  'PUT /v1/memory/{key}': async ({ store, params, body, options, request }) => {
    const { state, requestId } = body;
    // The store refuses `null`. It must not count as absent, because the write would be unconditional.
    const { expectedVersion = matchOf(request) ?? (wantsAbsent(request) ? 0 : undefined) } = body;
    return json(await store.agents.saveMemoryState(params.key, state, { ...options, expectedVersion, requestId }));
  },
  'DELETE /v1/memory/{key}': async ({ store, params, query: { requestId }, options, request }) => {
    const deleting = { ...options, expectedVersion: matchOf(request), requestId };
    return json({ deleted: await store.agents.deleteMemoryState(params.key, deleting) });
  },
});
