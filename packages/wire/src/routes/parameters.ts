/** Parameters that several routes accept. */
import type { ErrorCode } from '@tidemark/core/portable';
import Type, { type Static } from 'typebox';
import { Id } from '../schemas/common.ts';

/** Names the tenant of a run. */
export const TENANT_ID = {
  tenantId: Type.Optional(
    Type.String({ ...Id, description: 'The tenant of the run, if several tenants have a run with this id' }),
  ),
};

/** Names the run and the life to which the call is confined. */
export const RUN_LIFE = {
  ...TENANT_ID,
  life: Type.Optional(
    Type.String({ description: 'Only the life of this number: in any other life, the run counts as unknown' }),
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
  expectedSeq: Type.Optional(
    Type.Integer({ description: 'Fail unless this is the last sequence; can also be sent as If-Match' }),
  ),
  life: Type.Optional(
    Type.String({
      description: 'The life of the run, default 1. `new` begins the next life of a deleted run; later appends name it',
    }),
  ),
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
  'CONFLICT',
  'QUOTA_EXCEEDED',
  'STORAGE_FULL',
  'OUTCOME_UNKNOWN',
] as const satisfies readonly ErrorCode[];
