/** Parameters that many routes of runs take. */
import type { ErrorCode } from '@tidemark/core';
import Type from 'typebox';
import { Id } from '../schemas/common.ts';

export const TENANT_ID = {
  tenantId: Type.Optional({ ...Id, description: 'Whose run it is, where several tenants have one of this id' }),
};

export interface TenantQuery {
  tenantId?: string;
}

export const APPEND_PARAMETERS = {
  expectedSeq: Type.Optional(Type.Integer({ description: 'Only if this is the last sequence; also as If-Match' })),
  rejectInvalidTransitions: Type.Optional(Type.Boolean()),
};

export const APPEND_PROBLEMS: readonly ErrorCode[] = [
  'SEQ_CONFLICT',
  'INVALID_TRANSITION',
  'SCOPE_MISMATCH',
  'TENANT_MISMATCH',
  'RUN_ARCHIVED',
  'RUN_DELETED',
  'QUOTA_EXCEEDED',
  'STORAGE_FULL',
  'OUTCOME_UNKNOWN',
];
