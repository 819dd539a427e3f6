/** How much a caller may send and hold. */
export interface Limits {
  /** Bytes of a JSON body. */
  bodyBytes: number;
  /** Bytes of one line of a bulk body. */
  lineBytes: number;
  /** Live streams at a time. */
  streams: number;
  /** Requests of one caller in a second; twice as many for a moment. Not for callers without auth, as the next two. */
  requestsPerSecond: number;
  /** Requests of one caller at a time. */
  requestsAtATime: number;
  /** Live streams of one caller at a time. */
  streamsAtATime: number;
  /** How long a caller's own time limit may be. */
  timeoutMs: number;
  /** How long a socket may take to send the head of a request, and the whole of it. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** How long closing waits for requests under way. */
  closeMs: number;
}

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 16 * 1024 * 1024,
  lineBytes: 2 * 1024 * 1024,
  streams: 20_000,
  requestsPerSecond: 5_000,
  requestsAtATime: 512,
  streamsAtATime: 5_000,
  timeoutMs: 300_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  closeMs: 10_000,
};
