/** Shared by the test of kills around large artifacts and its child process. */

/** Larger than a chunk, so that it is stored in a file. */
export const LARGE = new Uint8Array(300_000).fill(7);

export const SESSIONS = { erased: 'session A', writer: 'session B' };
