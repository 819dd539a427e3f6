/** Short-term memory over HTTP. */
import { checkInteger, type MemoryRecord } from '@tidemark/core/portable';
import type { FormsOf } from '../calls.ts';

export const MEMORY_FORMS = {
  saveMemoryState: {
    route: 'PUT /v1/memory/{key}',
    takes: ['key', 'state', ['options?', 'expectedVersion', 'requestId']],
    // Checked here, because a server of version 0.1 would report it under its old name.
    encode: { expectedVersion: (value, field) => checkInteger(value, field, 0) },
    mints: 'requestId',
  },
  loadMemoryState: {
    route: 'GET /v1/memory/{key}',
    takes: ['key', ['options?']],
    finds: true,
    answer: (record: MemoryRecord | null) => record?.state ?? null,
  },
  getMemoryRecord: { route: 'GET /v1/memory/{key}', takes: ['key', ['options?']], finds: true },
  listMemory: {
    route: 'GET /v1/memory',
    takes: [['options?', 'limit', 'cursor', 'prefix']],
    encode: { prefix: (value) => value ?? '' },
  },
  deleteMemoryState: {
    route: 'DELETE /v1/memory/{key}',
    takes: ['key', ['options?', 'requestId']],
    ifMatch: 'expectedVersion',
    mints: 'requestId',
    answer: 'deleted',
  },
} as const satisfies FormsOf<'agents'>;
