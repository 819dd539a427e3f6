/**
 * The feed of a placed tenant. An event keeps the position it was given by the server that stored it first, its origin,
 * wherever its tenant is moved. On any other server its epoch is a negative number that contains the origin's ordinal,
 * so that the server's own feed, whose epochs are positive, does not contain it.
 */
import { decodeCursor, encodeCursor } from '@tidemark/core/engine';

/** A position in the feed of a server: epoch, transaction and position within it. */
export type FeedPosition = readonly [epoch: number, xid: string, position: number];

/** The highest ordinal of a server: all epochs of copies must be negative integers of 32 bits. */
export const MAX_SERVERS = 20_000;
const EPOCHS_OF_SERVER = 100_000;

/** Returns the number to add to an epoch of a server to get the epoch of its events on other servers. */
export function copiedEpochs(ordinal: number): number {
  return ordinal * EPOCHS_OF_SERVER - 2 ** 31;
}

/** Returns the SQL that translates a column of epochs from one server to another. */
export function translatedEpoch(column: string, from: number, to: number): string {
  const [source, target] = [copiedEpochs(from), copiedEpochs(to)];
  return `CASE WHEN ${column} >= 0 THEN ${column} + (${source})
    WHEN ${column} >= ${target} AND ${column} < ${target + EPOCHS_OF_SERVER} THEN ${column} - (${target})
    ELSE ${column} END`;
}

export function cursorOf(position: FeedPosition): string {
  return encodeCursor([...position]);
}

export function positionOf(cursor: string): FeedPosition {
  return decodeCursor<[number, string, number]>(cursor, (values) => values.length === 3);
}

export function comparePositions(a: FeedPosition, b: FeedPosition): number {
  return a[0] - b[0] || compareIds(a[1], b[1]) || a[2] - b[2];
}

/** Compares transaction ids, which are decimal texts of up to 64 bits. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
