/** Encodes a commit in one message: the head in the headers, where mirrors can read it, and the entries in the body. */
import type { JournalEntry, JournalHead, JournalName } from '@tidemark/core/engine';
import { sha256 } from '@tidemark/core/engine';
import { HEADER, type HeaderValues, headerJson, MAX_HEADER_BYTES } from '../messages/headers.ts';

/** The head of a commit, stored in its headers. */
export interface CommitHead {
  firstSeq: number;
  count: number;
  time: number;
  createdAt: number;
  rewrites: number;
}

/** A key in the index: 16 bytes of the key's hash, so that all keys take the same small amount of memory. */
export type KeyHash = string;
export const HASH_BYTES = 16;

export function hashOfKey(key: string): KeyHash {
  return sha256(key).slice(0, HASH_BYTES);
}

export interface Commit {
  head: CommitHead;
  state: string;
  /** Restored entries have their own times. */
  entries: readonly { key: string; body: string; time?: number }[];
  /** Notices of the messages that this commit replaces. */
  carried?: readonly string[];
}

/** Whether a string fits in the headers. A longer text is stored in the body. */
function fits(text: string): boolean {
  return text.length < MAX_HEADER_BYTES / 3;
}

/** Encodes a commit: a line of JSON with each key and the length of its body, then the bodies. */
export function encodeCommit(
  { head, state, entries, carried = [] }: Commit,
  hashes: readonly KeyHash[],
  name: JournalName | null,
): { headers: Record<string, string | undefined>; body: Buffer } {
  const keys = Buffer.from(hashes.join(''), 'latin1').toString('base64');
  const stateText = headerJson(state);
  const bodies = entries.map(({ body }) => Buffer.from(body));
  const lengths = entries.map(({ key, time }, at) => [key, bodies[at]!.length, ...(time === undefined ? [] : [time])]);
  const line = JSON.stringify(lineOf(lengths, fits(stateText) ? null : state, carried));
  return {
    headers: {
      [HEADER.commit]: headText(head),
      [HEADER.rewrites]: rewritesHeader(head.rewrites),
      [HEADER.state]: fits(stateText) ? stateText : undefined,
      [HEADER.keys]: fits(keys) ? keys : undefined,
      [HEADER.name]: name ? headerJson([name.tenantId, name.name]) : undefined,
    },
    body: Buffer.concat([Buffer.from(`${line}\n`), ...bodies]),
  };
}

type Lengths = readonly (readonly unknown[])[];

/**
 * Returns the line of JSON at the start of a body: the lengths of the entries, the state if it does not fit in the
 * headers, and the notices.
 */
function lineOf(lengths: Lengths, state: string | null, carried: readonly string[]): unknown[] {
  if (carried.length > 0) return [lengths, state, carried];
  return state === null ? [lengths] : [lengths, state];
}

/** Encodes the body of a message without entries that carries notices. */
export function encodeCarried(carried: readonly string[]): Buffer {
  return Buffer.from(carried.length === 0 ? '' : `${JSON.stringify(lineOf([], null, carried))}\n`);
}

/** Returns the notices that a body carries. */
export function noticesInBody(body: Buffer): string[] {
  return (JSON.parse(body.toString('utf8', 0, body.indexOf(10))) as [unknown, unknown, string[]?])[2] ?? [];
}

export function rewritesHeader(rewrites: number): string | undefined {
  return rewrites === 0 ? undefined : String(rewrites);
}

export function rewritesIn(headers: HeaderValues): number {
  return Number(headers[HEADER.rewrites] ?? 0);
}

function headText({ firstSeq, count, time, createdAt }: CommitHead): string {
  return `${firstSeq} ${count} ${time} ${createdAt}`;
}

/**
 * Encodes a step of a restore: a commit hidden by a tombstone. The last step has no tombstone and makes all steps
 * visible.
 */
export function encodeRestore(
  commit: Commit,
  hashes: readonly KeyHash[],
  name: JournalName | null,
  step: { tombstone: string; first: number | null; isLast: boolean },
): { headers: Record<string, string | undefined>; body: Buffer } {
  const { headers, body } = encodeCommit(commit, hashes, name);
  const restored = { ...headers, [HEADER.restored]: step.first === null ? undefined : String(step.first) };
  if (step.isLast) return { headers: restored, body };
  const hidden = {
    [HEADER.commit]: undefined,
    [HEADER.part]: headText(commit.head),
    [HEADER.end]: headerJson(step.tombstone),
    [HEADER.kept]: '1',
  };
  return { headers: { ...restored, ...hidden }, body };
}

/** Reads the head from the headers; `null` for a message that is not a commit. */
export function readCommitHead(headers: HeaderValues): CommitHead | null {
  return readHead(headers, HEADER.commit);
}

/** Reads the head of a step of a restore that is not the last; `null` for other messages. */
export function readPartHead(headers: HeaderValues): CommitHead | null {
  return readHead(headers, HEADER.part);
}

/**
 * Returns where the restore that this message continues began, or `null` if the message does not continue a restore.
 */
export function restoredFrom(headers: HeaderValues): number | null {
  const from = headers[HEADER.restored];
  return from === undefined ? null : Number(from);
}

function readHead(headers: HeaderValues, name: typeof HEADER.commit | typeof HEADER.part): CommitHead | null {
  const text = headers[name];
  if (text === undefined) return null;
  const [firstSeq, count, time, createdAt] = text.split(' ').map(Number) as [number, number, number, number];
  return { firstSeq, count, time, createdAt, rewrites: rewritesIn(headers) };
}

/** Returns the hashes of a commit's keys, or `null` when only the body contains them. */
export function readKeyHashes(headers: HeaderValues): KeyHash[] | null {
  const text = headers[HEADER.keys];
  if (text === undefined) return null;
  const all = Buffer.from(text, 'base64').toString('latin1');
  return Array.from({ length: all.length / HASH_BYTES }, (_, at) => all.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES));
}

/**
 * Decodes the entries. If the body cannot be read, the entries get empty bodies. Empty bodies cannot be decoded, so the
 * journal counts as damaged from these entries on.
 */
export function readEntries({ firstSeq, count, time }: CommitHead, body: Buffer): JournalEntry[] {
  const end = body.indexOf(10);
  const lengths = readLengths(body.toString('utf8', 0, end));
  if (lengths?.length !== count)
    return Array.from({ length: count }, (_, index) => ({ seq: firstSeq + index, time, key: '', body: '' }));
  let at = end + 1;
  return lengths.map(([key, length, own], index) => {
    const entry = { seq: firstSeq + index, time: own ?? time, key, body: body.toString('utf8', at, at + length) };
    at += length;
    return entry;
  });
}

function readLengths(line: string): [string, number, number?][] | null {
  try {
    const [lengths] = JSON.parse(line) as [[string, number, number?][]];
    return Array.isArray(lengths) ? lengths : null;
  } catch {
    return null;
  }
}

/** Returns the state from the headers, or `null` when only the body contains it. */
export function readState(headers: HeaderValues): string | null {
  const text = headers[HEADER.state];
  return text === undefined ? null : (JSON.parse(text) as string);
}

export function stateInBody(body: Buffer): string {
  return (JSON.parse(body.toString('utf8', 0, body.indexOf(10))) as [unknown, string])[1];
}

export function headAfter(commit: CommitHead, state: string): JournalHead {
  const { firstSeq, count, time, createdAt, rewrites } = commit;
  return { seq: firstSeq + count - 1, createdAt, updatedAt: time, state, rewrites };
}
