/** Runs on their way out and back: export, archive, restore. */
import type { RunPart } from '@tidemark/core';
import Type from 'typebox';
import { whileHeld } from '../auth/holds.ts';
import { json, LINES, sendLines } from '../http/answer.ts';
import { FORMS_OF_A_BODY, parseJson, readLines } from '../http/body.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { Archive, RestoreResult } from '../schemas/runs.ts';
import { type Call, route } from './route.ts';
import { TENANT_ID, type TenantQuery } from './run-parameters.ts';

/** A line has room for at least so many events of the largest size, escaped and encoded as they may be. */
const LEAST_EVENTS = 4;

export const RUN_ARCHIVE_ROUTES = [
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/export',
      scope: 'admin',
      summary: 'A run with all it has now, verified as it is read: one part a line',
      query: Type.Object(TENANT_ID),
      answers: { 200: null },
      gives: [LINES],
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT'],
    },
    (call) => {
      const { store, params, query, options, response } = call;
      const { tenantId } = query;
      return sendLines(response, paced(call, store.runs.exportRun(params.runId!, { ...options, tenantId })));
    },
  ),
  route<{ overDeleted?: boolean; keepEncoded?: boolean }>(
    {
      method: 'POST',
      path: '/v1/restores',
      scope: 'admin',
      summary: 'Put an exported run back, one part a line; sent again it goes on where it was',
      query: Type.Object({
        overDeleted: Type.Optional(Type.Boolean()),
        keepEncoded: Type.Optional(
          Type.Boolean({
            description: 'Operators only: keep payloads that the store cannot decode. Those of others are refused.',
          }),
        ),
      }),
      reads: [LINES],
      answers: { 200: RestoreResult },
      problems: ['CONFLICT', 'RUN_DELETED', 'CORRUPT_EVENT', 'TENANT_MISMATCH', 'PAYLOAD_TOO_LARGE', 'OUTCOME_UNKNOWN'],
    },
    async (call) => {
      const { store, query, options, principal, hold } = call;
      const { overDeleted } = query;
      // What nobody here can read would stop the operator's feed: only the operator may put it there.
      const keepEncoded = query.keepEncoded === true && principal.tenantId === null;
      const restoring = { ...options, overDeleted, keepEncoded };
      return json(await store.runs.restoreRun(whileHeld(hold, partsOf(call)), restoring));
    },
  ),
  route<TenantQuery, { location: string; atSeq: number; rewrites?: number }>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/archive',
      scope: 'admin',
      summary:
        'Remove a run that lies safe elsewhere, while a sequence is still its last and its rewrites are those of the copy',
      query: Type.Object(TENANT_ID),
      body: Archive,
      storeChecksBody: true,
      answers: { 200: Type.Object({ archived: Type.Boolean() }) },
      problems: ['AMBIGUOUS_RUN', 'SEQ_CONFLICT', 'CONFLICT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, body, options }) => {
      const { tenantId } = query;
      const { location, atSeq, rewrites } = body;
      const archiving = { ...options, tenantId, location, atSeq, rewrites };
      return json({ archived: await store.runs.archiveRun(params.runId!, archiving) });
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/archive',
      scope: 'admin',
      summary: 'Where an archived run lies',
      query: Type.Object(TENANT_ID),
      answers: { 200: Type.Object({ location: Type.String() }) },
      problems: ['NOT_FOUND', 'AMBIGUOUS_RUN'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      const location = await store.runs.archivedAt(params.runId!, { ...options, tenantId });
      if (location !== null) return json({ location });
      throw new Refusal(404, 'NOT_FOUND', 'The run is not archived');
    },
  ),
];

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
