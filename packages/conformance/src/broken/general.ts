/** Stores that are broken as a whole: info, errors, bounds and closing. */
import { TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_GENERAL: readonly BrokenStore[] = [
  broken('capabilities-incomplete', 'leaves capabilities out of its info', 'general/info-is-complete', () => ({
    store: (view) => ({ info: { ...view.info, capabilities: { runs: true, kv: true } as never } }),
  })),
  broken(
    'undeclared-works',
    'declares that it has no feed, and gives one',
    'general/undeclared-is-unsupported',
    () => ({
      store: (view) => ({ info: { ...view.info, capabilities: { ...view.info.capabilities, 'runs.feed': false } } }),
    }),
  ),
  broken(
    'doctor-flatters',
    'finds nothing wrong with a store that survives nothing',
    'general/doctor-is-honest',
    () => ({
      store: (view) => ({ doctor: async () => ({ ...(await view.doctor()), findings: [] }) }),
    }),
  ),
  broken('plain-errors', 'throws errors without a code', 'general/errors-are-typed', () => ({
    runs: (runs) => ({
      projectSnapshot: (runId, options) =>
        runs.projectSnapshot(runId, options).catch((error: Error) => Promise.reject(new Error(error.message))),
    }),
  })),
  broken('cursors-trusted', 'hands cursors to its database unread', 'general/forged-cursors-are-arguments', () => ({
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
  broken('signals-unchecked', 'takes anything for a signal', 'general/signals-are-checked', () => ({
    runs: (runs) => ({
      headSeq: (runId, { signal, ...options } = {}) =>
        runs.headSeq(runId, signal instanceof AbortSignal ? { ...options, signal } : options),
    }),
  })),
  broken('timeouts-ignored', 'takes any time limit', 'general/time-limits-are-checked', () => ({
    runs: (runs) => ({ headSeq: (runId, { timeoutMs: _, ...options } = {}) => runs.headSeq(runId, options) }),
  })),
  broken('works-when-closed', 'goes on after it was closed', 'general/closed-store-refuses', () => ({
    store: () => ({ close: async () => {} }),
  })),
  broken('views-share-a-tenant', 'gives every tenant the same KV records', 'kv/tenants-stay-apart', {
    kv: (_, whole) => ({ put: whole.kv.put.bind(whole.kv), get: whole.kv.get.bind(whole.kv) }),
  }),
];
