import { getHeapStatistics } from 'node:v8';

/**
 * Limits of each key. All keys of a tenant together have the same limits with larger numbers. These limits do not apply
 * without auth.
 */
export interface CallerLimits {
  /** Requests per second. This rate and the other rates allow bursts of twice their size. */
  requestsPerSecond: number;
  /** Concurrent requests, not counting long polls and streams. */
  requestsAtATime: number;
  /** Concurrent live streams. */
  streamsAtATime: number;
  /** Concurrent long polls and live streams. */
  waitsAtATime: number;
  /** Concurrent topics of live streams. */
  topicsAtATime: number;
  /** Bytes of request bodies per second. */
  bytesPerSecond: number;
  /** Rows read by lists per second. */
  rowsPerSecond: number;
  /** Response bytes of lists per second. */
  readBytesPerSecond: number;
}

/** The limits of a server. The limits in `CallerLimits` apply to each key. */
export interface Limits extends CallerLimits {
  /** The limits of all keys of a tenant together. */
  tenant: CallerLimits;
  /** Maximum size of a JSON body in bytes. */
  bodyBytes: number;
  /** Maximum size of one line of a bulk body in bytes. */
  lineBytes: number;
  /** Maximum number of members and items of a JSON body or line that may contain values of any shape. */
  bodyMembers: number;
  /** The maximum number of members in other bodies, such as the fields of a record or the keys of a lookup. */
  members: number;
  /**
   * The maximum memory in bytes for bodies, restores, bulk appends and streams of all callers. Default: a quarter of
   * the heap.
   */
  memoryBytes: number;
  /** Concurrent live streams of all callers together. */
  streams: number;
  /** Maximum time limit that a caller may request. */
  timeoutMs: number;
  /** How long a socket may take to send the head of a request, and the whole request. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** How long closing waits for requests in progress. */
  closeMs: number;
}

/** Any subset of the limits. */
export type SomeLimits = Partial<Omit<Limits, 'tenant'>> & { tenant?: Partial<CallerLimits> };

const MIB = 1024 * 1024;

/**
 * The limits of a server that sets none. `limits` changes some of them.
 *
 * @example
 * const limits = { requestsPerSecond: DEFAULT_LIMITS.requestsPerSecond / 10 };
 * const server = createServer({ store, limits });
 * await server.close();
 */
export const DEFAULT_LIMITS: Limits = {
  requestsPerSecond: 5_000,
  requestsAtATime: 512,
  streamsAtATime: 5_000,
  waitsAtATime: 5_000,
  topicsAtATime: 10_000,
  bytesPerSecond: 128 * MIB,
  rowsPerSecond: 200_000,
  readBytesPerSecond: 128 * MIB,
  tenant: {
    requestsPerSecond: 20_000,
    requestsAtATime: 2_048,
    streamsAtATime: 10_000,
    waitsAtATime: 10_000,
    topicsAtATime: 20_000,
    bytesPerSecond: 256 * MIB,
    rowsPerSecond: 400_000,
    readBytesPerSecond: 256 * MIB,
  },
  bodyBytes: 16 * MIB,
  lineBytes: 2 * MIB,
  bodyMembers: 1_000_000,
  members: 20_000,
  memoryBytes: Math.floor(getHeapStatistics().heap_size_limit / 4),
  streams: 20_000,
  timeoutMs: 300_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  closeMs: 10_000,
};

/** Returns the defaults, overridden by the given limits. */
export function limitsWith(given: SomeLimits = {}): Limits {
  return { ...DEFAULT_LIMITS, ...given, tenant: { ...DEFAULT_LIMITS.tenant, ...given.tenant } };
}
