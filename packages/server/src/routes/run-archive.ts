/** Runs on their way out and back: export, archive, restore. */
import type { RunPart } from '@tidemark/core';
import { RUN_ARCHIVE_ROUTES } from '@tidemark/wire/routes';
import { whileHeld } from '../auth/holds.ts';
import { json, sendLines } from '../http/answer.ts';
import { FORMS_OF_A_BODY, parseJson, readLines } from '../http/body.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { bind, type Call } from './route.ts';

/** A line has room for at least so many events of the largest size, escaped and encoded as they may be. */
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
    // What nobody here can read would stop the operator's feed: only the operator may put it there.
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

/** The parts of a run, one at a time: each is reserved until the store has taken it. */
async function* partsOf({ request, store, services, memory }: Call): AsyncGenerator<RunPart> {
  const { bodyBytes, bodyMembers } = services.limits;
  const lineBytes = Math.max(bodyBytes, LEAST_EVENTS * store.info.limits.eventPayloadBytes);
  for await (const lines of readLines(request, lineBytes, memory)) {
    for (const line of lines) {
      const bytes = FORMS_OF_A_BODY * line.length;
      memory.grow(bytes);
      yield parseJson(line, bodyMembers) as RunPart;
      memory.shrink(bytes);
    }
  }
}
