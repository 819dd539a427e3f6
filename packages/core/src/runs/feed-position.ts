/**
 * Where a reader of the feed is. A cursor is the engine's own while no run was ever released; afterwards it also says which
 * releases the reader has seen, and inside a release how far it has come.
 */
import { encodeCursor } from '../checks/json.ts';
import { invalidArgument } from '../contracts/errors.ts';

export interface FeedPosition {
  /** The engine's cursor; `null` at the beginning. */
  engine: string | null;
  /** The number of the last release that was seen; `null` at the beginning, where all of them are in the engine's feed. */
  release: number | null;
  /** The release that is being read, and the last sequence that was read of its run. */
  reading: { release: number; seq: number } | null;
}

const PREFIX = 'q1.';

export function cursorOf({ engine, release, reading }: FeedPosition): string | null {
  if (engine === null || (!release && reading === null)) return engine;
  const parts = [release ?? 0, engine, ...(reading ? [reading.release, reading.seq] : [])];
  return PREFIX + encodeCursor(parts);
}

export function positionOf(after: unknown): FeedPosition {
  if (after === undefined) return { engine: null, release: null, reading: null };
  if (typeof after !== 'string' || after === '') throw foreign(after);
  if (!after.startsWith(PREFIX)) return { engine: after, release: 0, reading: null };
  return composite(after) ?? refuse(after);
}

function composite(after: string): FeedPosition | null {
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
  throw foreign(after);
}

function foreign(after: unknown) {
  return invalidArgument('cursor', 'a cursor of this feed', after);
}
