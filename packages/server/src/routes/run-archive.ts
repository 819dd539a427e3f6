/** Routes that move runs out of the store and back: export, archive and restore. */
import type { RunPart } from '@tidemark/core';
import { RUN_ARCHIVE_ROUTES } from '@tidemark/wire/routes';
import { whileHeld } from '../auth/holds.ts';
import { json, sendLines } from '../http/answer.ts';
import { COPIES_PER_BODY, parseJson, readLines } from '../http/body.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { bind, type Call } from './route.ts';

/** A line has room for at least this many events of maximum size, even when they are escaped and encoded. */
const MIN_EVENTS = 4;

export const RUN_ARCHIVE_HANDLERS = bind(RUN_ARCHIVE_ROUTES, {
  'GET /v1/runs/{runId}/export': (call) => {
    const { store, params, query, options, response } = call;
    const { tenantId } = query;
    return sendLines(response, paced(call, store.runs.exportRun(params.runId, { ...options, tenantId })));
  },
  'POST /v1/restores': async (call) => {
    const { store, query, options, principal, hold } = call;
    const { overDeleted } = query;
    // Only operators may restore payloads that cannot be decoded, because such payloads stop the operator's feed.
    const keepEncoded = query.keepEncoded === true && principal.tenantId === null;
    const restoring = { ...options, overDeleted, keepEncoded };
    return json(await store.runs.restoreRun(whileHeld(hold, partsOf(call)), restoring));
  },
  'POST /v1/runs/{runId}/archive': async ({ store, params, query, body, options }) => {
    const { tenantId } = query;
    const { location, expectedSeq, expectedRewrites } = body;
    const archiving = { ...options, tenantId, location, expectedSeq, expectedRewrites };
    return json({ archived: await store.runs.archiveRun(params.runId, archiving) });
  },
  'GET /v1/runs/{runId}/archive': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    const location = await store.runs.archiveLocation(params.runId, { ...options, tenantId });
    if (location !== null) return json({ location });
    throw new Refusal(404, 'NOT_FOUND', 'The run is not archived');
  },
});

/** Yields the parts of a run one at a time. The memory of a part is reserved until the store has processed it. */
async function* partsOf({ request, store, services, memory }: Call): AsyncGenerator<RunPart> {
  const { bodyBytes, bodyMembers } = services.limits;
  const lineBytes = Math.max(bodyBytes, MIN_EVENTS * store.info.limits.eventPayloadBytes);
  for await (const lines of readLines(request, lineBytes, memory)) {
    for (const line of lines) {
      const bytes = COPIES_PER_BODY * line.length;
      memory.grow(bytes);
      yield parseJson(line, bodyMembers) as RunPart;
      memory.shrink(bytes);
    }
  }
}
