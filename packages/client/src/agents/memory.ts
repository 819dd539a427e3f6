/** Short-term memory over HTTP. */
import {
  checkInteger,
  checkLimit,
  checkOptionalId,
  checkPrefix,
  type MemoryCapability,
  type MemoryRecord,
  type Page,
  type StoreLimits,
} from '@tidemark/core/portable';
import type { Transport } from '../transport.ts';
import { uuid } from '../uuid.ts';
import { bodyOf } from '../wire/bodies.ts';
import { segmentOf } from '../wire/segments.ts';

export function httpMemory(transport: Transport, { documentBytes }: StoreLimits): MemoryCapability {
  const pathOf = (key: unknown) => `/v1/memory/${segmentOf(key, 'key')}`;

  const memory: MemoryCapability = {
    async saveMemoryState(key, state, options) {
      const path = pathOf(key);
      const ifVersion = versionOf(options);
      const requestId = requestIdOf(options);
      const body = bodyOf({ state, ifVersion, requestId }, documentBytes);
      const write = { method: 'saveMemoryState', args: [key, state, { requestId, ifVersion }] };
      return transport.call<{ version: number }>({ method: 'PUT', path, body, write }, options);
    },

    async loadMemoryState(key, options) {
      return (await memory.getMemoryRecord(key, options))?.state ?? null;
    },

    async getMemoryRecord(key, options) {
      return transport.find<MemoryRecord>({ method: 'GET', path: pathOf(key) }, options);
    },

    async listMemory(options) {
      const query = {
        limit: checkLimit(options?.limit, 100, 1_000),
        cursor: options?.cursor,
        prefix: checkPrefix(options?.prefix ?? '', 'prefix'),
      };
      const request = { method: 'GET', path: '/v1/memory', query } as const;
      return transport.call<Page<Omit<MemoryRecord, 'state'>>>(request, options);
    },

    async deleteMemoryState(key, options) {
      const path = pathOf(key);
      const ifVersion = versionOf(options);
      const headers: Record<string, string> = ifVersion === undefined ? {} : { 'if-match': `"${ifVersion}"` };
      const requestId = requestIdOf(options);
      const write = { method: 'deleteMemoryState', args: [key, { requestId, ifVersion }] };
      const request = { method: 'DELETE', path, query: { requestId }, headers, write } as const;
      return (await transport.call<{ deleted: boolean }>(request, options)).deleted;
    },
  };
  return memory;
}

function requestIdOf(options: { requestId?: string } | undefined): string {
  return checkOptionalId(options?.requestId, 'requestId') ?? uuid();
}

function versionOf(options: { ifVersion?: number } | undefined): number | undefined {
  return options?.ifVersion === undefined ? undefined : checkInteger(options.ifVersion, 'ifVersion', 0);
}
