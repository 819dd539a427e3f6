/**
 * Short-term memory: loads return exactly what was saved. The last write wins, and every save has a version (AGT-5).
 */

import { encodeJsonObject } from '../checks/json.ts';
import { checkInteger, checkLimit, timeText } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkOptionalId, checkPrefix } from '../checks/text.ts';
import type { MemoryCapability } from '../contracts/agents.ts';
import type { JsonObject } from '../contracts/common.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { MemoryEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { cursorKey, pageOf, withDamage } from '../tools/paging.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** Creates the memory capability of one tenant. */
export function createMemory(context: StoreContext, engine: MemoryEngine, tenantId: string): MemoryCapability {
  const memoryContext = (key: string) => ({ tenantId, kind: 'memory', owner: key }) as const;

  /** Generates a request id when absent, so that the write in an `OUTCOME_UNKNOWN` error can be retried safely. */
  const requestOf = (options: { requestId?: string } | undefined) => {
    const requestId = checkOptionalId(options?.requestId, 'requestId');
    return { requestId: requestId ?? context.uuid(), requestIsNew: requestId === null };
  };

  const load = async (key: string, options: Parameters<MemoryCapability['getMemoryRecord']>[1]) => {
    checkId(key, 'key');
    return context.read(options, (call) => engine.load(tenantId, key, call));
  };

  return {
    async saveMemoryState(key, state, options) {
      checkId(key, 'key');
      refuseOldNames('memory', options);
      const expectedVersion =
        options?.expectedVersion === undefined ? null : checkInteger(options.expectedVersion, 'expectedVersion', 0);
      const { requestId, requestIsNew } = requestOf(options);
      const text = encodeJsonObject(state, 'state', context.limits.documentBytes);
      const body = context.payloads.encode(text, memoryContext(key));
      const write = context.writeOf('agents', 'saveMemoryState', [key, state, { ...options, requestId }]);
      const outcome = await context.write(options, write, (call) =>
        engine.save(tenantId, { key, state: body, expectedVersion, requestId, requestIsNew }, call),
      );
      if (!outcome.saved) throw versionConflict(expectedVersion, outcome.version);
      return { version: outcome.version };
    },

    async loadMemoryState(key, options) {
      const row = await load(key, options);
      return row === null ? null : context.payloads.decode(row.state, memoryContext(key));
    },

    async getMemoryRecord(key, options) {
      const row = await load(key, options);
      if (row === null) return null;
      const state = context.payloads.decode<JsonObject>(row.state, memoryContext(key));
      return { key, state, version: row.version, updatedAt: timeText(row.updatedAt) };
    },

    async listMemory(options) {
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      const prefix = checkPrefix(options?.prefix ?? '', 'prefix');
      const after = cursorKey('memory', options?.cursor);
      const damaged: string[] = [];
      const rows = await context.read(options, (call) =>
        engine.list(tenantId, { prefix, after, limit: limit + 1 }, { ...call, damaged }),
      );
      const page = pageOf(
        'memory',
        rows,
        limit,
        (row) => row.key,
        (row) => {
          return { key: row.key, version: row.version, updatedAt: timeText(row.updatedAt) };
        },
      );
      return withDamage(page, damaged);
    },

    async deleteMemoryState(key, options) {
      checkId(key, 'key');
      refuseOldNames('memory', options);
      const expectedVersion =
        options?.expectedVersion === undefined ? null : checkInteger(options.expectedVersion, 'expectedVersion', 1);
      const { requestId, requestIsNew } = requestOf(options);
      const write = context.writeOf('agents', 'deleteMemoryState', [key, { ...options, requestId }]);
      const { deleted, version } = await context.write(options, write, (call) =>
        engine.delete(tenantId, { key, expectedVersion, requestId, requestIsNew }, call),
      );
      if (!deleted && version !== 0) throw versionConflict(expectedVersion, version);
      return deleted;
    },
  };
}

function versionConflict(expected: number | null, current: number): TidemarkError {
  return new TidemarkError(
    'VERSION_CONFLICT',
    `The memory state has version ${current}, not ${expected}; load it, apply your change and save again`,
    { field: 'expectedVersion', rule: 'the current version', current },
  );
}
