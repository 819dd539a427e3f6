/** Routes that move runs out of the store and back: export, archive and restore. */
import Type from 'typebox';
import { LINES } from '../media-types.ts';
import { Archive, RestoreResult } from '../schemas/runs.ts';
import { TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

export const RUN_ARCHIVE_ROUTES = routes({
  'GET /v1/runs/{runId}/export': {
    scope: 'admin',
    summary: 'Export a run with its current content, verified while it is read: one part per line',
    query: Type.Object(TENANT_ID),
    answers: { 200: null },
    produces: [LINES],
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT'],
  },
  'POST /v1/restores': {
    scope: 'admin',
    summary: 'Restore an exported run, one part per line; a retry continues where it stopped',
    query: Type.Object({
      overDeleted: Type.Optional(Type.Boolean()),
      keepEncoded: Type.Optional(
        Type.Boolean({
          description: 'Operators only, otherwise ignored: keep payloads that the store cannot decode',
        }),
      ),
    }),
    reads: [LINES],
    answers: { 200: RestoreResult },
    problems: ['CONFLICT', 'RUN_DELETED', 'CORRUPT_EVENT', 'TENANT_MISMATCH', 'PAYLOAD_TOO_LARGE', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/runs/{runId}/archive': {
    scope: 'admin',
    summary: 'Remove a run that was stored elsewhere, if its last sequence and its rewrites still match the copy',
    query: Type.Object(TENANT_ID),
    body: Archive,
    storeChecksBody: true,
    answers: { 200: Type.Object({ archived: Type.Boolean() }) },
    problems: ['AMBIGUOUS_RUN', 'SEQ_CONFLICT', 'CONFLICT', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/runs/{runId}/archive': {
    scope: 'admin',
    summary: 'Get the location of an archived run',
    query: Type.Object(TENANT_ID),
    answers: { 200: Type.Object({ location: Type.String() }) },
    problems: ['NOT_FOUND', 'AMBIGUOUS_RUN'],
  },
});
