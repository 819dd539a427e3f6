/** Stores with general faults: info, errors, limits and closing. */
import { type Store, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_GENERAL: readonly BrokenStore[] = [
  broken('views-widen', 'gives a view of any tenant to each view', 'general/views-never-widen', {
    store: (whole) => {
      const viewOf = (tenantId: string): Store => Object.assign(whole.forTenant(tenantId), { forTenant: viewOf });
      return { forTenant: viewOf };
    },
  }),
  broken('capabilities-incomplete', 'omits capabilities from its info', 'general/info-is-complete', () => ({
    store: (view) => ({ info: { ...view.info, capabilities: { runs: true, kv: true } as never } }),
  })),
  broken('undeclared-works', 'offers a feed that it declares as missing', 'general/undeclared-is-unsupported', () => ({
    store: (view) => ({ info: { ...view.info, capabilities: { ...view.info.capabilities, 'runs.feed': false } } }),
  })),
  broken('doctor-flatters', 'reports no findings for a store without durability', 'general/doctor-is-honest', () => ({
    store: (view) => ({ doctor: async () => ({ ...(await view.doctor()), findings: [] }) }),
  })),
  broken('plain-errors', 'throws errors without a code', 'general/errors-are-typed', () => ({
    runs: (runs) => ({
      projectSnapshot: (runId, options) =>
        runs.projectSnapshot(runId, options).catch((error: Error) => Promise.reject(new Error(error.message))),
    }),
  })),
  broken('cursors-trusted', 'passes cursors to its database unchecked', 'general/forged-cursors-are-arguments', () => ({
    runs: (runs) => ({
      listRuns: async (options) => {
        if (Buffer.from(options?.cursor ?? '', 'base64url').includes('\\u0000'))
          throw new TidemarkError('STORAGE_ERROR', 'invalid byte sequence for encoding "UTF8": 0x00');
        return runs.listRuns(options);
      },
    }),
  })),
  broken('abort-ignored', 'writes although the call was aborted', 'general/aborted-calls-write-nothing', () => ({
    kv: (kv) => ({ put: (key, fields, { signal: _, ...options } = {}) => kv.put(key, fields, options) }),
  })),
  broken('signals-unchecked', 'accepts any value as a signal', 'general/signals-are-checked', () => ({
    runs: (runs) => ({
      headSeq: (runId, { signal, ...options } = {}) =>
        runs.headSeq(runId, signal instanceof AbortSignal ? { ...options, signal } : options),
    }),
  })),
  broken('timeouts-ignored', 'accepts any time limit', 'general/time-limits-are-checked', () => ({
    runs: (runs) => ({ headSeq: (runId, { timeoutMs: _, ...options } = {}) => runs.headSeq(runId, options) }),
  })),
  broken('works-when-closed', 'keeps working after it was closed', 'general/closed-store-refuses', () => ({
    store: () => ({ close: async () => {} }),
  })),
  broken('views-share-a-tenant', 'shares KV records between all tenants', 'kv/tenants-stay-apart', {
    kv: (_, whole) => ({ put: whole.kv.put.bind(whole.kv), get: whole.kv.get.bind(whole.kv) }),
  }),
];
