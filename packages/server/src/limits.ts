import { getHeapStatistics } from 'node:v8';

/** How much a caller may send and hold. */

/** Limits that hold for each key, and with larger numbers for each tenant with all its keys. Not for callers without auth. */
export interface CallerLimits {
  /** Requests in a second; twice as many for a moment, as with the other rates. */
  requestsPerSecond: number;
  /** Requests at a time, without long polls and streams. */
  requestsAtATime: number;
  /** Live streams at a time. */
  streamsAtATime: number;
  /** Long polls and live streams at a time. */
  waitsAtATime: number;
  /** Topics that live streams read at a time. */
  topicsAtATime: number;
  /** Bytes of bodies in a second. */
  bytesPerSecond: number;
  /** Rows that lists read in a second. */
  rowsPerSecond: number;
  /** Bytes of the answers of lists in a second. */
  readBytesPerSecond: number;
}

/** The limits of a server; those of `CallerLimits` are for each key. */
export interface Limits extends CallerLimits {
  /** For all keys of a tenant together. */
  tenant: CallerLimits;
  /** Bytes of a JSON body. */
  bodyBytes: number;
  /** Bytes of one line of a bulk body. */
  lineBytes: number;
  /** Members and items of one JSON body, or line, that has room for values of the caller's own. */
  bodyMembers: number;
  /** The same of a body that has not: fields of a record, keys of a lookup. */
  members: number;
  /** Memory that bodies, restores, bulk appends and streams of all callers may take; default a quarter of the heap. */
  memoryBytes: number;
  /** Live streams of all callers at a time. */
  streams: number;
  /** How long a caller's own time limit may be. */
  timeoutMs: number;
  /** How long a socket may take to send the head of a request, and the whole of it. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** How long closing waits for requests under way. */
  closeMs: number;
}

/** Limits of which only some are given. */
export type SomeLimits = Partial<Omit<Limits, 'tenant'>> & { tenant?: Partial<CallerLimits> };

const MIB = 1024 * 1024;

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

/** The defaults, with what is given in their place. */
export function limitsWith(given: SomeLimits = {}): Limits {
  return { ...DEFAULT_LIMITS, ...given, tenant: { ...DEFAULT_LIMITS.tenant, ...given.tenant } };
}
