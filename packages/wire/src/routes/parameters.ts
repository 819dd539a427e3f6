/** Parameters that several routes take. */
import type { ErrorCode } from '@tidemark/core/portable';
import Type, { type Static } from 'typebox';
import { Id } from '../schemas/common.ts';

/** Names the tenant of a run. */
export const TENANT_ID = {
  tenantId: Type.Optional(
    Type.String({ ...Id, description: 'The tenant of the run, if several tenants have a run with this id' }),
  ),
};

/** Parameters of routes that support live reads. */
export const LIVE_PARAMETERS = {
  wait: Type.Optional(Type.String({ description: 'Long poll: how long to wait for new items, such as 20s' })),
  lastEventId: Type.Optional(
    Type.String({ description: 'Same as the header Last-Event-ID, for callers that cannot set headers' }),
  ),
};

export type LiveQuery = { [Name in keyof typeof LIVE_PARAMETERS]?: Static<(typeof LIVE_PARAMETERS)[Name]> };

export const APPEND_PARAMETERS = {
  expectedSeq: Type.Optional(Type.Integer({ description: 'Fail unless this is the last sequence; also as If-Match' })),
  rejectInvalidTransitions: Type.Optional(Type.Boolean()),
};

export type AppendQuery = { [Name in keyof typeof APPEND_PARAMETERS]?: Static<(typeof APPEND_PARAMETERS)[Name]> };

export const APPEND_PROBLEMS = [
  'SEQ_CONFLICT',
  'INVALID_TRANSITION',
  'SCOPE_MISMATCH',
  'TENANT_MISMATCH',
  'RUN_ARCHIVED',
  'RUN_DELETED',
  'QUOTA_EXCEEDED',
  'STORAGE_FULL',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly ErrorCode[];
