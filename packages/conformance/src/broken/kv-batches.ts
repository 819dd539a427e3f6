/** Broken batches: applied one operation at a time, forgotten, or without their conditions. */
import { type KvBatchResult, type KvOperation, type KvStore, textOf } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

/** Applies the operations of a batch one by one until one does not hold. */
async function oneByOne(kv: KvStore, operations: readonly KvOperation[]): Promise<KvBatchResult> {
  const results = [];
  for (const [index, operation] of operations.entries()) {
    const result = await kv.batch([operation]);
    if (!result.written) return { ...result, unmet: { ...result.unmet, index } };
    results.push(...result.results);
  }
  return { written: true, results };
}

function unconditional({ expected: _, expectedRevision: __, ...operation }: KvOperation): KvOperation {
  return operation as KvOperation;
}

export const BROKEN_KV_BATCHES: readonly BrokenStore[] = [
  broken('results-in-key-order', 'returns results in the order of keys', 'kv/batch-writes-every-operation', {
    kv: (kv) => ({
      async batch(operations, options) {
        const sorted = operations.toSorted((a, b) => (a.key < b.key ? -1 : 1));
        return kv.batch(sorted, options);
      },
    }),
  }),
  broken('batch-until-refused', 'writes the operations before the refused one', 'kv/batch-is-all-or-nothing', {
    kv: (kv) => ({ batch: (operations) => oneByOne(kv, operations) }),
  }),
  broken('batch-last-key-wins', 'drops all but the last operation of a key', 'kv/batch-is-bounded', {
    kv: (kv) => ({
      batch(operations, options) {
        const last = operations.filter(({ key }, at) => !operations.slice(at + 1).some((it) => it.key === key));
        return kv.batch(last, options);
      },
    }),
  }),
  broken(
    'batch-forgets-with-its-records',
    'remembers a batch for as long as its records have the revisions it gave them',
    'kv/batch-requests-are-answered-once',
    () => {
      const known = new Map<string, KvBatchResult>();
      return {
        kv: (kv) => ({
          async batch(operations, { requestId = '', ...options } = {}) {
            const before = known.get(requestId);
            if (before?.written) {
              const records = await kv.getMany(operations.map(({ key }) => key));
              if (before.results.every(({ revision }, at) => revision === (records[at]?.revision ?? null)))
                return before;
            }
            const result = await kv.batch(operations, options);
            if (requestId !== '' && result.written) known.set(requestId, result);
            return result;
          },
        }),
      };
    },
  ),
  broken('batch-answer-kept-late', 'remembers a batch only after it was applied', 'kv/batch-retries-at-once', () => {
    const known = new Map<string, KvBatchResult>();
    return {
      kv: (kv) => ({
        async batch(operations, { requestId = '', ...options } = {}) {
          const result = known.get(requestId) ?? (await kv.batch(operations, options));
          if (requestId !== '' && result.written) known.set(requestId, result);
          return result;
        },
      }),
    };
  }),
  broken('batch-put-keeps-ttl', 'keeps the time to live of a replaced record', 'kv/batch-keeps-record-rules', {
    kv: (kv) => ({
      async batch(operations, options) {
        const records = await kv.getMany(operations.map(({ key }) => key));
        const kept = operations.map((operation, at): KvOperation => {
          const ttl = records[at]?.ttl;
          return operation.op === 'put' && ttl !== undefined ? { ttl, ...operation } : operation;
        });
        return kv.batch(kept, options);
      },
    }),
  }),
  broken('batch-checks-first', 'checks the conditions before it writes', 'kv/batches-side-by-side', {
    kv: (kv) => ({
      async batch(operations, options) {
        const records = await kv.getMany(operations.map(({ key }) => key));
        const unmet = operations.findIndex(({ expected = {} }, at) =>
          Object.entries(expected).some(([name, value]) => textOf(value) !== textOf(records[at]?.fields[name])),
        );
        if (unmet >= 0) return kv.batch(operations, options);
        return oneByOne(kv, operations.map(unconditional));
      },
    }),
  }),
  broken('batch-seen-in-part', 'writes one operation after the other', 'kv/batch-is-never-seen-in-part', {
    kv: (kv) => ({
      async batch(operations) {
        const results: KvBatchResult[] = [];
        for (const operation of operations) {
          results.push(await kv.batch([operation]));
          await new Promise(setImmediate);
        }
        return results.at(-1)!;
      },
    }),
  }),
];
