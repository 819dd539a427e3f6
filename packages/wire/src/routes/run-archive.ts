/** Runs on their way out and back: export, archive, restore. */
import Type from 'typebox';
import { LINES } from '../media-types.ts';
import { Archive, RestoreResult } from '../schemas/runs.ts';
import { TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

export const RUN_ARCHIVE_ROUTES = routes({
  'GET /v1/runs/{runId}/export': {
    scope: 'admin',
    summary: 'A run with all it has now, verified as it is read: one part a line',
    query: Type.Object(TENANT_ID),
    answers: { 200: null },
    gives: [LINES],
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT'],
  },
  'POST /v1/restores': {
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
  'POST /v1/runs/{runId}/archive': {
    scope: 'admin',
    summary:
      'Remove a run that lies safe elsewhere, while a sequence is still its last and its rewrites are those of the copy',
    query: Type.Object(TENANT_ID),
    body: Archive,
    storeChecksBody: true,
    answers: { 200: Type.Object({ archived: Type.Boolean() }) },
    problems: ['AMBIGUOUS_RUN', 'SEQ_CONFLICT', 'CONFLICT', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/runs/{runId}/archive': {
    scope: 'admin',
    summary: 'Where an archived run lies',
    query: Type.Object(TENANT_ID),
    answers: { 200: Type.Object({ location: Type.String() }) },
    problems: ['NOT_FOUND', 'AMBIGUOUS_RUN'],
  },
});
