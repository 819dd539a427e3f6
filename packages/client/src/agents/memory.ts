/** Short-term memory over HTTP. */
import {
  checkInteger,
  checkLimit,
  checkOptionalId,
  checkPrefix,
  isTidemarkError,
  type MemoryCapability,
  refuseOldNames,
  type StoreLimits,
} from '@tidemark/core/portable';
import { bodyOf, targetOf } from '@tidemark/wire';
import type { Transport } from '../transport.ts';
import { uuid } from '../uuid.ts';

export function httpMemory(transport: Transport, { documentBytes }: StoreLimits): MemoryCapability {
  const memory: MemoryCapability = {
    async saveMemoryState(key, state, options) {
      const to = targetOf('PUT /v1/memory/{key}', { key });
      const expectedVersion = versionOf(options);
      const requestId = requestIdOf(options);
      const body = bodyOf(transport.named(to.route, { state, expectedVersion, requestId }), documentBytes);
      const write = transport.writeOf('agents', 'saveMemoryState', [key, state, { ...options, requestId }]);
      return transport.call({ ...to, body, write }, options);
    },

    async loadMemoryState(key, options) {
      return (await memory.getMemoryRecord(key, options))?.state ?? null;
    },

    async getMemoryRecord(key, options) {
      return transport.find(targetOf('GET /v1/memory/{key}', { key }), options);
    },

    async listMemory(options) {
      const query = {
        limit: checkLimit(options?.limit, 100, 1_000),
        cursor: options?.cursor,
        prefix: checkPrefix(options?.prefix ?? '', 'prefix'),
      };
      const request = { ...targetOf('GET /v1/memory'), query };
      return transport.call(request, options);
    },

    async deleteMemoryState(key, options) {
      const to = targetOf('DELETE /v1/memory/{key}', { key });
      const expectedVersion = versionOf(options);
      const headers: Record<string, string> =
        expectedVersion === undefined ? {} : { 'if-match': `"${expectedVersion}"` };
      const requestId = requestIdOf(options);
      const write = transport.writeOf('agents', 'deleteMemoryState', [key, { ...options, requestId }]);
      const request = { ...to, headers, write };
      try {
        return (await transport.call({ ...request, query: { requestId } }, options)).deleted;
      } catch (error) {
        // Servers of version 0.1 reject this parameter, so the call is retried without it, unless the caller chose the
        // id.
        if (options?.requestId !== undefined || !isRefusal(error, 'requestId')) throw error;
        return (await transport.call(request, options)).deleted;
      }
    },
  };
  return memory;
}

function isRefusal(error: unknown, field: string): boolean {
  return isTidemarkError(error, 'INVALID_ARGUMENT') && error.field === field;
}

function requestIdOf(options: { requestId?: string } | undefined): string {
  return checkOptionalId(options?.requestId, 'requestId') ?? uuid();
}

function versionOf(options: { expectedVersion?: number } | undefined): number | undefined {
  refuseOldNames('memory', options);
  return options?.expectedVersion === undefined
    ? undefined
    : checkInteger(options.expectedVersion, 'expectedVersion', 0);
}
