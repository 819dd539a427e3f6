/**
 * Quarantined runs. A caller that may read runs may list its own damaged runs. Like removing and redacting, releasing a
 * run requires the scope `admin`, because a release decides which events all consumers of the run receive next.
 * Releases are recorded in the audit log.
 */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { pageOf, pageQuery, wordOf } from '../schemas/common.ts';
import { QuarantinedRun } from '../schemas/runs.ts';
import { TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

export const QUARANTINE_ROUTES = routes({
  'GET /v1/quarantines': {
    scope: 'runs:read',
    summary: 'List runs in which damage was found, and released runs',
    query: pageQuery({
      ...TENANT_ID,
      state: Type.Optional(
        wordOf<NonNullable<Contract.ListQuarantinedOptions['state']>>('quarantined (default), released or any'),
      ),
    }),
    answers: { 200: pageOf(QuarantinedRun) },
    problems: ['TENANT_MISMATCH'],
  },
  'POST /v1/runs/{runId}/release': {
    scope: 'admin',
    summary:
      'Release a quarantined run that was repaired: consumers receive its events from the first one that was skipped',
    query: Type.Object(TENANT_ID),
    answers: { 200: QuarantinedRun },
    problems: ['RUN_NOT_FOUND', 'NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'OUTCOME_UNKNOWN'],
  },
});
