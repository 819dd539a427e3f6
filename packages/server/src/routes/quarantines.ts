/**
 * Quarantined runs. Whoever may read runs may see which of theirs are damaged. Releasing takes the scope `admin`, as removing
 * and redacting do: it decides what every consumer of the run is given next, and so it is in the audit log.
 */
import type { ListQuarantinedOptions } from '@tidemark/core';
import Type from 'typebox';
import { json } from '../http/answer.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { QuarantinedRun } from '../schemas/runs.ts';
import { route } from './route.ts';
import { TENANT_ID, type TenantQuery } from './run-parameters.ts';

export const QUARANTINE_ROUTES = [
  route<Pick<ListQuarantinedOptions, 'tenantId' | 'state' | 'cursor' | 'limit'>>(
    {
      method: 'GET',
      path: '/v1/quarantines',
      scope: 'runs:read',
      summary: 'Runs in which damage was found, and those that were released',
      query: pageQuery({
        ...TENANT_ID,
        state: Type.Optional(Type.String({ description: 'quarantined (default), released or any' })),
      }),
      answers: { 200: pageOf(QuarantinedRun) },
      problems: ['TENANT_MISMATCH'],
    },
    async ({ store, query, options }) => {
      const { tenantId, state, cursor, limit } = query;
      return json(await store.runs.listQuarantined({ ...options, tenantId, state, cursor, limit }));
    },
  ),
  route<TenantQuery>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/release',
      scope: 'admin',
      summary:
        'Release a quarantined run that is whole again: its events come once more, from where they were passed over',
      query: Type.Object(TENANT_ID),
      answers: { 200: QuarantinedRun },
      problems: ['RUN_NOT_FOUND', 'NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      return json(await store.runs.releaseRun(params.runId!, { ...options, tenantId }));
    },
  ),
];
