/**
 * The position of a feed reader. Until a run is released, a cursor is the engine's own cursor. Afterwards it also
 * contains the last release the reader has seen and, inside a release, the last sequence read.
 */
import { encodeCursor } from '../checks/json.ts';
import { invalidArgument } from '../contracts/errors.ts';

export interface FeedPosition {
  /** The engine's cursor; `null` at the beginning. */
  engine: string | null;
  /**
   * The number of the last release seen; `null` at the beginning, because from there the engine's feed contains all
   * released events.
   */
  release: number | null;
  /** The release being read, and the last sequence read of its run. */
  reading: { release: number; seq: number } | null;
}

const PREFIX = 'q1.';

export function encodePosition({ engine, release, reading }: FeedPosition): string | null {
  if (engine === null || (!release && reading === null)) return engine;
  const parts = [release ?? 0, engine, ...(reading ? [reading.release, reading.seq] : [])];
  return PREFIX + encodeCursor(parts);
}

export function parseCursor(after: unknown): FeedPosition {
  if (after === undefined) return { engine: null, release: null, reading: null };
  if (typeof after !== 'string' || after === '') throw foreignCursor(after);
  if (!after.startsWith(PREFIX)) return { engine: after, release: 0, reading: null };
  return parseComposite(after) ?? refuse(after);
}

function parseComposite(after: string): FeedPosition | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(after.slice(PREFIX.length), 'base64url').toString());
    if (!Array.isArray(parts) || (parts.length !== 2 && parts.length !== 4)) return null;
    const [release, engine, reading, seq] = parts as [unknown, unknown, unknown, unknown];
    if (typeof engine !== 'string' || engine === '' || engine.startsWith(PREFIX) || !isCount(release)) return null;
    if (parts.length === 2) return { engine, release, reading: null };
    return isCount(reading) && isCount(seq) && reading > release
      ? { engine, release, reading: { release: reading, seq } }
      : null;
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function refuse(after: string): never {
  throw foreignCursor(after);
}

function foreignCursor(after: unknown) {
  return invalidArgument('cursor', 'a cursor of this feed', after);
}
