/**
 * The hash chain of a run, format version 1 (RUN-17). A leaf covers an event, a link covers everything up to it.
 * The format cannot change once released: a new one gets a new version text and both are read.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { EventBody, LogPage, StoredRunEvent } from '../engine/runs.ts';
import { type Digest, sha256, sha256Hex } from '../hash.ts';
import { leafText } from './event-forms.ts';

/** The link before the first event of a run. */
export const FIRST_LINK: Digest = '\0'.repeat(32);

/**
 * Returns the hash of one event, the leaf of the run's hash chain. A leaf covers the hash of the payload and not the
 * payload itself, so the chain still holds after a redaction.
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
 * @param before the roll of the event before in the same commit, `null` for the first event
 */
export function rollOf(before: Digest | null, leaf: Digest): Digest {
  if (before === null) return leaf;
  rollInput.write(before, 0, 'latin1');
  rollInput.write(leaf, 32, 'latin1');
  return sha256(rollInput);
}

const rollInput = Buffer.alloc(64);
const linkInput = Buffer.alloc(72);

/**
 * Returns the link of an event: the SHA-256 of the link before its commit, the roll up to the event, and its sequence
 * as 8 big-endian bytes.
 */
export function linkOf(linkBefore: Digest, roll: Digest, runSeq: number): Digest {
  linkInput.write(linkBefore, 0, 'latin1');
  linkInput.write(roll, 32, 'latin1');
  linkInput.writeUInt32BE(Math.floor(runSeq / 0x1_0000_0000), 64);
  linkInput.writeUInt32BE(runSeq >>> 0, 68);
  return sha256(linkInput);
}

/** Checks events against the chain. Events must be passed in sequence order. */
export class ChainReader {
  readonly #run: RunKey;
  #linkBefore: Digest;
  #roll: Digest | null = null;
  #last: StoredRunEvent | null = null;

  constructor(run: RunKey, linkBefore: Digest = FIRST_LINK) {
    this.#run = run;
    this.#linkBefore = linkBefore;
  }

  /** Returns an independent reader at the same position. */
  copy(): ChainReader {
    const copy = new ChainReader(this.#run, this.#linkBefore);
    copy.#roll = this.#roll;
    copy.#last = this.#last;
    return copy;
  }

  /** Returns a description of the problem with the event, or `null` when it fits the chain. */
  problemOf(event: StoredRunEvent): string | null {
    const last = this.#last;
    if (last && event.runSeq !== last.runSeq + 1) return `event ${last.runSeq + 1} is missing`;
    if (event.commitIndex === 1) {
      if (last) this.#linkBefore = last.link;
      this.#roll = null;
    } else if (last === null || event.commitIndex !== last.commitIndex + 1) {
      return `its place in its commit is ${event.commitIndex}, which does not follow the event before it`;
    }
    // A flipped bit in a SQLite row can turn text into bytes, which have the same hash.
    if (event.payload !== null && typeof event.payload !== 'string') return 'its payload is not text';
    this.#roll = rollOf(this.#roll, leafOf(this.#run, event, event.redaction?.payloadHash));
    this.#last = event;
    const link = linkOf(this.#linkBefore, this.#roll, event.runSeq);
    if (link !== event.link) return 'its content does not match its link';
    // Links of format 1 do not cover `persistedAt`, so only check that it never decreases (RUN-6).
    return last && event.persistedAt < last.persistedAt ? 'its time is before that of the event before it' : null;
  }

  /** Throws `CORRUPT_EVENT` for an event that does not fit the chain. */
  check(event: StoredRunEvent): void {
    const problem = this.problemOf(event);
    if (problem !== null) throw corruptEvent(this.#run, event.runSeq, problem);
  }
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
  const reader = new ChainReader(run, page.linkBefore);
  for (const event of page.lead) reader.check(event);
  if (first.runSeq !== afterSeq + 1) throw missingEvent(run, afterSeq + 1);
  for (const event of page.events) reader.check(event);
}
