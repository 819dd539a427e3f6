/**
 * The hash chain of a run (RUN-17, RUN-19). A leaf covers an event, a link covers everything up to it. In format 2 a
 * link also covers the time of the previous commit. A released format never changes. Commits of both formats can be
 * read, and each commit states its format.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { CommitEnd, EventBody, LogPage, StoredRunEvent } from '../engine/runs.ts';
import { type Digest, sha256, sha256Hex } from '../hash.ts';
import { leafText } from './event-forms.ts';

/** The link before the first event of a run in its first life. */
export const FIRST_LINK: Digest = '\0'.repeat(32);

/**
 * Returns the link before the first event of a life: 32 zero bytes in life 1. From life 2 onwards, the last 8 bytes are
 * the number of the life, big-endian, so that the links of two lives always differ.
 */
export function firstLinkOf(life: number): Digest {
  if (life === 1) return FIRST_LINK;
  const bytes = Buffer.alloc(32);
  writeInteger(bytes, life, 24);
  return bytes.toString('latin1');
}

/**
 * Returns the hash of one event, the leaf of the run's hash chain. A leaf covers the hash of the payload and not the
 * payload itself, so the chain stays valid after a redaction.
 *
 * @param payloadHash hex SHA-256 of the payload's JSON text; pass the recorded hash for a redacted event
 */
export function leafOf(run: RunKey, event: EventBody, payloadHash = payloadHashOf(event.payload)): Digest {
  return sha256(leafText(run, event, payloadHash));
}

/** Returns the hex SHA-256 of a payload's JSON text, or of the empty text when the event has no payload. */
export function payloadHashOf(payload: string | null): string {
  return sha256Hex(payload ?? '');
}

/**
 * Returns the running hash of a commit after one more leaf. The roll of the first event is its leaf; each later roll is
 * the SHA-256 of the roll before it and the leaf.
 *
 * @param before the roll of the previous event of the same commit, `null` for the first event
 */
export function rollOf(before: Digest | null, leaf: Digest): Digest {
  if (before === null) return leaf;
  rollInput.write(before, 0, 'latin1');
  rollInput.write(leaf, 32, 'latin1');
  return sha256(rollInput);
}

const rollInput = Buffer.alloc(64);
const linkInput = Buffer.alloc(72);
const timedLinkInput = Buffer.alloc(80);

/** A format of the chain. */
export type ChainFormat = 1 | 2;

/** The format that writers use in a store whose marker allows it. */
export const NEWEST_CHAIN_FORMAT = 2;

/**
 * Returns the link of an event. In format 1 it is the SHA-256 of the link before its commit, the roll up to the event,
 * and its sequence as 8 big-endian bytes. In format 2 the time of the previous commit, as 8 big-endian bytes, follows
 * the link before the commit.
 *
 * @param timeBefore the `persistedAt` of the previous commit in milliseconds, 0 for the first commit of a run. Pass it
 * for a commit of format 2 only.
 *
 * @example
 * const zeros = '\0'.repeat(32); // the link before the first event
 * const leaf = 'x'.repeat(32); // in practice: leafOf(run, event)
 * console.log(linkOf(zeros, rollOf(null, leaf), 1, 0).length); // 32
 */
export function linkOf(linkBefore: Digest, roll: Digest, runSeq: number, timeBefore?: number): Digest {
  if (timeBefore !== undefined) return timedLinkOf(linkBefore, roll, runSeq, timeBefore);
  linkInput.write(linkBefore, 0, 'latin1');
  linkInput.write(roll, 32, 'latin1');
  writeInteger(linkInput, runSeq, 64);
  return sha256(linkInput);
}

function timedLinkOf(linkBefore: Digest, roll: Digest, runSeq: number, timeBefore: number): Digest {
  timedLinkInput.write(linkBefore, 0, 'latin1');
  writeInteger(timedLinkInput, timeBefore, 32);
  timedLinkInput.write(roll, 40, 'latin1');
  writeInteger(timedLinkInput, runSeq, 72);
  return sha256(timedLinkInput);
}

/** Writes 8 big-endian bytes. A damaged value does not throw: its link then differs. */
function writeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000) >>> 0, at);
  bytes.writeUInt32BE(value >>> 0, at + 4);
}

const RUN_START: CommitEnd = { link: FIRST_LINK, persistedAt: 0 };

/** Returns the start of a life, before its first commit. */
export function startOfLife(life: number): CommitEnd {
  return life === 1 ? RUN_START : { link: firstLinkOf(life), persistedAt: 0 };
}

/** Computes the links of one commit, event by event. */
export class CommitChain {
  readonly format: ChainFormat;
  readonly #before: CommitEnd;
  #roll: Digest | null = null;
  /** The number of events in the commit so far. */
  events = 0;

  constructor(format: ChainFormat, before: CommitEnd) {
    this.format = format;
    this.#before = before;
  }

  /** Adds an event and returns its link. */
  add(leaf: Digest, runSeq: number): Digest {
    this.#roll = rollOf(this.#roll, leaf);
    this.events++;
    const timeBefore = this.format === 1 ? undefined : this.#before.persistedAt;
    return linkOf(this.#before.link, this.#roll, runSeq, timeBefore);
  }

  /** Returns an independent copy, to plan events that may not become part of the commit. */
  copy(): CommitChain {
    const copy = new CommitChain(this.format, this.#before);
    copy.#roll = this.#roll;
    copy.events = this.events;
    return copy;
  }
}

/** Checks events against the chain. Events must be passed in sequence order. */
export class ChainReader {
  readonly #run: RunKey;
  readonly #before: CommitEnd | null;
  #commit: CommitChain | null = null;
  #last: StoredRunEvent | null = null;

  /** @param before the end of the commit before the first event; `null` at the start of the run */
  constructor(run: RunKey, before: CommitEnd | null = null) {
    this.#run = run;
    this.#before = before;
  }

  /** Returns an independent reader at the same position. */
  copy(): ChainReader {
    const copy = new ChainReader(this.#run, this.#before);
    copy.#commit = this.#commit?.copy() ?? null;
    copy.#last = this.#last;
    return copy;
  }

  /** Returns a description of the problem with the event, or `null` when it fits the chain. */
  problemOf(event: StoredRunEvent): string | null {
    const last = this.#last;
    if (last && event.runSeq !== last.runSeq + 1) return `event ${last.runSeq + 1} is missing`;
    if (last && event.life !== last.life) return 'it belongs to another life than the event before it';
    const problem = event.commitIndex === 1 ? this.#startCommit(event) : problemInCommit(event, last);
    if (problem !== null) return problem;
    // A flipped bit in a SQLite row can turn text into bytes, which have the same hash.
    if (event.payload !== null && typeof event.payload !== 'string') return 'its payload is not text';
    const link = this.#commit!.add(leafOf(this.#run, event, event.redaction?.payloadHash), event.runSeq);
    this.#last = event;
    if (link !== event.link) return 'its content does not match its link';
    // The links of a commit do not cover its own time, and in format 1 no time at all (RUN-6).
    return last && event.persistedAt < last.persistedAt ? 'its time is before that of the event before it' : null;
  }

  #startCommit({ chainFormat = 1, life = 1 }: StoredRunEvent): string | null {
    if (chainFormat !== 1 && chainFormat !== NEWEST_CHAIN_FORMAT)
      return `its chain has format ${chainFormat}, which this version of Tidemark does not know`;
    this.#commit = new CommitChain(chainFormat, this.#last ?? this.#before ?? startOfLife(life));
    return null;
  }

  /** Throws `CORRUPT_EVENT` for an event that does not fit the chain. */
  check(event: StoredRunEvent): void {
    const problem = this.problemOf(event);
    if (problem !== null) throw corruptEvent(this.#run, event.runSeq, problem);
  }
}

/** Compares an event with the event before it in the same commit. */
function problemInCommit(event: StoredRunEvent, last: StoredRunEvent | null): string | null {
  if (last === null || event.commitIndex !== last.commitIndex + 1)
    return `its position in its commit is ${event.commitIndex}, which does not follow the event before it`;
  if (event.chainFormat !== last.chainFormat) return 'its chain has another format than the rest of its commit';
  if (event.chainFormat !== undefined && event.persistedAt !== last.persistedAt)
    return 'its time is not that of its commit';
  return null;
}

export function corruptEvent({ runId }: RunKey, runSeq: number, problem: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    'CORRUPT_EVENT',
    `Event ${runSeq} of run ${JSON.stringify(runId)} is corrupt: ${problem}; restore the run from a backup`,
    { runId, runSeq, rule: problem, ...(cause === undefined ? {} : { cause }) },
  );
}

/** Returns the error for an event that the engine cannot decode. */
export function undecodable(run: RunKey, runSeq: number): TidemarkError {
  return corruptEvent(run, runSeq, 'its stored form cannot be decoded');
}

/** Returns the error for a head that the engine cannot decode. Appends fail; stored events remain readable. */
export function damagedHead(run: RunKey, seq: number): TidemarkError {
  return corruptEvent(run, seq + 1, DAMAGED_HEAD);
}

export const DAMAGED_HEAD = 'the head of the run cannot be decoded';

export function missingEvent({ runId }: RunKey, runSeq: number): TidemarkError {
  return new TidemarkError('CORRUPT_EVENT', `Event ${runSeq} of run ${JSON.stringify(runId)} is missing`, {
    runId,
    runSeq,
    rule: 'the event is missing',
  });
}

/** Checks a page of a run against the chain, and that the page starts right after `afterSeq`. */
export function checkPage(run: RunKey, afterSeq: number, page: LogPage): void {
  const first = page.events[0];
  if (!first) return;
  const reader = new ChainReader(run, page.before);
  for (const event of page.lead) reader.check(event);
  if (first.runSeq !== afterSeq + 1) throw missingEvent(run, afterSeq + 1);
  for (const event of page.events) reader.check(event);
}
