/** Encodes a commit in one message: the head in the headers, where mirrors read it, and the entries in the body. */
import type { JournalEntry, JournalHead, JournalName } from '@tidemark/core/engine';
import { sha256 } from '@tidemark/core/engine';
import { HEADER, type HeaderValues, headerJson, LARGEST_HEADERS } from '../messages/headers.ts';

/** The head of a commit, stored in its headers. */
export interface CommitHead {
  firstSeq: number;
  count: number;
  time: number;
  createdAt: number;
  rewrites: number;
}

/** A key in the index: 16 bytes of its hash, so that every key takes the same small space. */
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
}

/** Whether a text fits in the headers. A longer one is stored in the body. */
function fits(text: string): boolean {
  return text.length < LARGEST_HEADERS / 3;
}

/** Encodes a commit: a line of JSON with each key and the length of its body, then the bodies. */
export function encodeCommit(
  { head, state, entries }: Commit,
  hashes: readonly KeyHash[],
  name: JournalName | null,
): { headers: Record<string, string | undefined>; body: Buffer } {
  const keys = Buffer.from(hashes.join(''), 'latin1').toString('base64');
  const stateText = headerJson(state);
  const bodies = entries.map(({ body }) => Buffer.from(body));
  const lengths = entries.map(({ key, time }, at) => [key, bodies[at]!.length, ...(time === undefined ? [] : [time])]);
  const line = JSON.stringify(fits(stateText) ? [lengths] : [lengths, state]);
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

export function rewritesHeader(rewrites: number): string | undefined {
  return rewrites === 0 ? undefined : String(rewrites);
}

export function rewritesIn(headers: HeaderValues): number {
  return Number(headers[HEADER.rewrites] ?? 0);
}

function headText({ firstSeq, count, time, createdAt }: CommitHead): string {
  return `${firstSeq} ${count} ${time} ${createdAt}`;
}

/** Encodes a step of a restore: a commit hidden by a tombstone, unless it is the last, which makes them all visible. */
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

/** The same for a step of a restore that is not the last. */
export function readPartHead(headers: HeaderValues): CommitHead | null {
  return readHead(headers, HEADER.part);
}

/** Returns where the restore that this message continues began, or `null` if it continues none. */
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

/** Returns the hashes of a commit's keys, or `null` when only the body has them. */
export function readKeyHashes(headers: HeaderValues): KeyHash[] | null {
  const text = headers[HEADER.keys];
  if (text === undefined) return null;
  const all = Buffer.from(text, 'base64').toString('latin1');
  return Array.from({ length: all.length / HASH_BYTES }, (_, at) => all.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES));
}

/**
 * Decodes the entries. If the body cannot be read, they get empty bodies, which cannot be decoded: the journal is
 * damaged there.
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

/** Returns the state from the headers, or `null` when only the body has it. */
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
