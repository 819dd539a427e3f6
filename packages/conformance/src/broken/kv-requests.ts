/** Broken request ids: forgotten too early, or confused with each other. */
import type { KvStore } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** An applied request with its result. */
interface Request {
  key: string;
  requestId: string;
  answer: unknown;
}

/** The faults to inject. */
interface Faults {
  /** Returns the requests that are still remembered when a new one arrives. */
  knows?: (requests: Request[], key: string, kv: KvStore) => Request[] | Promise<Request[]>;
  isSame?: (known: Request, key: string, requestId: string) => boolean;
  remembersFailures?: boolean;
}

const isExact = (known: Request, key: string, requestId: string) => known.key === key && known.requestId === requestId;

function isApplied(answer: unknown): boolean {
  const { written = false, swapped = false } = Object(answer) as { written?: boolean; swapped?: boolean };
  return answer === true || written || swapped;
}

/** A store that remembers request ids itself, without passing them to the store below. */
function remembering({ knows = (it) => it, isSame = isExact, remembersFailures = false }: Faults): () => Overrides {
  return () => {
    let requests: Request[] = [];
    return {
      kv: (kv) => {
        const once = async <T>(key: string, requestId: string | undefined, call: () => Promise<T>): Promise<T> => {
          if (requestId === undefined) return call();
          requests = await knows(requests, key, kv);
          const known = requests.find((it) => isSame(it, key, requestId));
          if (known) return known.answer as T;
          const answer = await call();
          if (remembersFailures || isApplied(answer)) requests.push({ key, requestId, answer });
          return answer;
        };
        return {
          put: (key, fields, { requestId, ...rest } = {}) => once(key, requestId, () => kv.put(key, fields, rest)),
          delete: (key, { requestId } = {}) => once(key, requestId, () => kv.delete(key)),
          touch: (key, ttl, { requestId } = {}) => once(key, requestId, () => kv.touch(key, ttl)),
          setField: (key, field, value, { requestId, ...rest } = {}) =>
            once(key, requestId, () => kv.setField(key, field, value, rest)),
          setFields: (key, fields, { requestId, ...rest } = {}) =>
            once(key, requestId, () => kv.setFields(key, fields, rest)),
          compareAndSwap: (key, field, expected, next, { requestId } = {}) =>
            once(key, requestId, () => kv.compareAndSwap(key, field, expected, next)),
          swap: (key, { requestId, ...change }) => once(key, requestId, () => kv.swap(key, change)),
        };
      },
    };
  };
}

/** Forgets the requests of a key when its record is gone. */
const forgottenWithTheRecord: Faults = {
  knows: async (requests, key, kv) => ((await kv.get(key)) ? requests : requests.filter((it) => it.key !== key)),
};

export const BROKEN_KV_REQUESTS: readonly BrokenStore[] = [
  broken(
    'requests-go-with-a-delete',
    'forgets requests when their record is deleted',
    'kv/requests-outlive-a-delete',
    remembering(forgottenWithTheRecord),
  ),
  broken(
    'requests-go-with-expiry',
    'forgets requests when their record expires',
    'kv/requests-outlive-expiry',
    remembering(forgottenWithTheRecord),
  ),
  broken('deletes-without-requests', 'deletes again on retry', 'kv/deletes-and-touches-are-requests', {
    kv: (kv) => ({ delete: (key, { requestId: _, ...options } = {}) => kv.delete(key, options) }),
  }),
  broken(
    'remembers-deletes-of-nothing',
    'returns true for a retried delete that removed nothing',
    'kv/deletes-and-touches-are-requests',
    () => {
      const seen = new Set<unknown>();
      return {
        kv: (kv) => ({
          async delete(key, options) {
            const requestId = options?.requestId;
            if (seen.has(requestId)) return true;
            const existed = await kv.delete(key, options);
            if (!existed && requestId !== undefined) seen.add(requestId);
            return existed;
          },
        }),
      };
    },
  ),
  broken('touches-without-requests', 'touches again on retry', 'kv/deletes-and-touches-are-requests', {
    kv: (kv) => ({ touch: (key, ttl, { requestId: _, ...options } = {}) => kv.touch(key, ttl, options) }),
  }),
  broken(
    'sixteen-requests',
    'remembers only the last 16 requests of a key',
    'kv/many-requests-of-one-key',
    remembering({ knows: (requests, key) => requests.filter((it) => it.key === key).slice(-16) }),
  ),
  broken(
    'requests-by-substring',
    'treats an id as equal to one that contains it',
    'kv/request-ids-are-exact',
    remembering({ isSame: (known, key, requestId) => known.key === key && known.requestId.includes(requestId) }),
  ),
  broken(
    'requests-across-keys',
    'treats an id as equal to the same id of another key',
    'kv/request-ids-are-exact',
    remembering({ isSame: (known, _, requestId) => known.requestId === requestId }),
  ),
  broken(
    'requests-survive-erasure',
    'remembers the requests of an erased tenant',
    'general/erasure-forgets-requests',
    remembering({}),
  ),
  broken(
    'failures-remembered',
    'repeats the result of a request that failed',
    'kv/failed-requests-are-not-remembered',
    remembering({ remembersFailures: true }),
  ),
];
