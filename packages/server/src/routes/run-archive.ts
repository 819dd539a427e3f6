/** Moving runs out of the store and back: export, archive, restore. */
import type { RunPart } from '@tidemark/core';
import { RUN_ARCHIVE_ROUTES } from '@tidemark/wire/routes';
import { whileHeld } from '../auth/holds.ts';
import { json, sendLines } from '../http/answer.ts';
import { COPIES_PER_BODY, parseJson, readLines } from '../http/body.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { bind, type Call } from './route.ts';

/** A line fits at least this many events of maximum size, even when escaped and encoded. */
const LEAST_EVENTS = 4;

export const RUN_ARCHIVE_HANDLERS = bind(RUN_ARCHIVE_ROUTES, {
  'GET /v1/runs/{runId}/export': (call) => {
    const { store, params, query, options, response } = call;
    const { tenantId } = query;
    return sendLines(response, paced(call, store.runs.exportRun(params.runId, { ...options, tenantId })));
  },
  'POST /v1/restores': async (call) => {
    const { store, query, options, principal, hold } = call;
    const { overDeleted } = query;
    // Undecodable payloads would stop the operator's feed: only the operator may restore them.
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

/** Yields the parts of a run one at a time. Each is reserved until the store has taken it. */
async function* partsOf({ request, store, services, memory }: Call): AsyncGenerator<RunPart> {
  const { bodyBytes, bodyMembers } = services.limits;
  const lineBytes = Math.max(bodyBytes, LEAST_EVENTS * store.info.limits.eventPayloadBytes);
  for await (const lines of readLines(request, lineBytes, memory)) {
    for (const line of lines) {
      const bytes = COPIES_PER_BODY * line.length;
      memory.grow(bytes);
      yield parseJson(line, bodyMembers) as RunPart;
      memory.shrink(bytes);
    }
  }
}
