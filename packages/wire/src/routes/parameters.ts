/** Parameters that several routes take. */
import type { ErrorCode } from '@tidemark/core/portable';
import Type, { type Static } from 'typebox';
import { Id } from '../schemas/common.ts';

/** Whose run it is. */
export const TENANT_ID = {
  tenantId: Type.Optional(
    Type.String({ ...Id, description: 'Whose run it is, where several tenants have one of this id' }),
  ),
};

/** Parameters of reads that can be live. */
export const LIVE_PARAMETERS = {
  wait: Type.Optional(Type.String({ description: 'Long poll: how long to wait for something new, such as 20s' })),
  lastEventId: Type.Optional(
    Type.String({ description: 'As the header Last-Event-ID, for callers that cannot set it' }),
  ),
};

export type LiveQuery = { [Name in keyof typeof LIVE_PARAMETERS]?: Static<(typeof LIVE_PARAMETERS)[Name]> };

export const APPEND_PARAMETERS = {
  expectedSeq: Type.Optional(Type.Integer({ description: 'Only if this is the last sequence; also as If-Match' })),
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
