/** Reads journals of one stream: heads, entries and the indexes that writers need. */
import type { EngineCall, JournalEntry, JournalHead, JournalName, JournalSpace } from '@tidemark/core/engine';
import { LruMap } from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { removeMarkersUnder } from '../messages/delete-markers.ts';
import { HEADER } from '../messages/headers.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import type { Spill } from '../messages/spill.ts';
import { walk } from '../streams/consumers.ts';
import { type Subject, subjectOf, tenantFilter } from '../streams/subjects.ts';
import { CHECKPOINT_EVERY, type Checkpoints } from './checkpoints.ts';
import {
  type CommitHead,
  hashOfKey,
  headAfter,
  readCommitHead,
  readEntries,
  readKeyHashes,
  readPartHead,
  readState,
  restoredFrom,
  rewritesIn,
  stateInBody,
} from './commits.ts';
import { JournalIndex } from './journal-index.ts';
import { idOf } from './journal-names.ts';

/** The end marker of a journal that may be created again. Any other end marker is a tombstone. */
export const REMOVED = 'removed';
/** Up to this many messages are read one by one, before it is worth creating a consumer. */
const FEW = 4;
const MAX_POSITIONS = 10_000;

export function subjectOfJournal(stream: string, name: JournalName): Subject {
  return subjectOf(stream, name);
}

export class JournalReader {
  readonly #link: Link;
  readonly #messages: Messages;
  readonly spill: Spill;
  readonly checkpoints: Checkpoints;
  /** The positions at which reads ended. The next page, or the next read of a tail, starts there. */
  readonly #positions = new LruMap<string, { seq: number; streamSeq: number }>(MAX_POSITIONS);

  constructor(link: Link, messages: Messages, spill: Spill, checkpoints: Checkpoints) {
    this.#link = link;
    this.#messages = messages;
    this.spill = spill;
    this.checkpoints = checkpoints;
    this.onDoubt(() => this.#positions.clear());
  }

  /**
   * Calls back when the cached state of journals may be wrong: the stream has gone back, or the connection was lost and
   * the server may have lost commits whose sequences another writer has reused since.
   */
  onDoubt(callback: () => void): void {
    this.#messages.onWentBack(callback);
    this.#link.onReconnect(callback);
  }

  /** The start of all subjects of the stream. */
  get subject(): string {
    return this.#messages.subject;
  }

  /** Yields messages of the whole stream starting at a stream sequence. */
  allAfter(from: number, call: EngineCall): AsyncGenerator<StoredMessage, void, undefined> {
    return this.after(this.#messages.all, from, call);
  }

  async head(name: JournalName, call: EngineCall): Promise<{ head: JournalHead | null; tombstone: string | null }> {
    const { head, tombstone } = await this.headWithPosition(name, call);
    return { head, tombstone };
  }

  async headWithPosition(name: JournalName, call: EngineCall) {
    const message = await this.#messages.last(this.#subjectOf(name), call);
    if (!message) return { head: null, tombstone: null, last: 0, rewrites: 0 };
    const { seq: last, headers } = message;
    const rewrites = rewritesIn(headers);
    const commit = readCommitHead(headers);
    if (commit) return { head: headAfter(commit, await this.#stateOf(message, call)), tombstone: null, last, rewrites };
    const part = readPartHead(headers);
    const restoring = part && { from: restoredFrom(headers) ?? last };
    return { head: part && headAfter(part, ''), tombstone: tombstoneIn(message), last, rewrites, restoring };
  }

  /** Creates an index of a whole journal, or of a journal that is expected to be empty. */
  async index(name: JournalName, of: 'empty' | 'whole', call: EngineCall): Promise<JournalIndex> {
    const index = new JournalIndex();
    if (of === 'whole') await this.refresh(name, index, call);
    return index;
  }

  /** Brings an index up to date with the stored journal. */
  async refresh(name: JournalName, index: JournalIndex, call: EngineCall): Promise<void> {
    const subject = this.#subjectOf(name);
    const last = await this.#messages.last(subject, call);
    if (index.last > 0 && (last?.seq ?? 0) < index.last) {
      // Sequences fall only if the stream went back, or if the last traces of a journal were removed.
      await this.#messages.lastSeq(call);
      index.clear();
    }
    if (last?.seq === index.last) return;
    if (!last) {
      index.clear();
      return;
    }
    const commit = readCommitHead(last.headers) ?? readPartHead(last.headers);
    const missing = commit ? commit.firstSeq - 1 - (index.head?.seq ?? 0) : 0;
    // Comparing sequences is not enough, because the journal may have been removed and restored in between.
    const isNext = last.headers[HEADER.expected] === String(index.last);
    if (!commit || isNext || commit.firstSeq === 1) return this.#takeIn(index, last, call);
    if (index.last === 0 && missing >= CHECKPOINT_EVERY) await this.#takeInCheckpoints(subject, index, call);
    for await (const message of this.#between(subject, index.last + 1, last, missing, call)) {
      await this.#takeIn(index, message, call);
    }
    if (index.last === last.seq && index.tombstone === null)
      index.head = headAfter(commit, await this.#stateOf(last, call));
  }

  async #takeInCheckpoints(subject: string, index: JournalIndex, call: EngineCall): Promise<void> {
    const first = await this.#messages.next(subject, 1, call);
    if (!first || readCommitHead(first.headers)?.firstSeq !== 1) return;
    for await (const checkpoint of this.checkpoints.read(subject, first.seq, call)) {
      if (!index.addCheckpoint(checkpoint)) return;
    }
  }

  /**
   * Writes the checkpoints that are due. Callers do not wait for this call. If it fails, the next writer has to read
   * more.
   */
  async checkpoint(name: JournalName, index: JournalIndex, call: EngineCall): Promise<void> {
    const { origin } = index;
    for (let due = index.takeCheckpoint(); due; due = index.takeCheckpoint()) {
      await this.checkpoints.write(this.#subjectOf(name), origin, due, call).catch(() => {});
    }
  }

  /** Yields the commits from a stream sequence up to the known last commit, without bodies if there are many. */
  async *#between(filter: string, from: number, last: StoredMessage, atMost: number, call: EngineCall) {
    let next = from;
    for (let count = 0; count < FEW && atMost <= 2 * FEW; count++) {
      const message = await this.#messages.next(filter, next, call);
      if (!message) return;
      yield message;
      if (message.seq >= last.seq) return;
      next = message.seq + 1;
    }
    // Nothing is left to read if a checkpoint ends with the last commit.
    yield* walk(this.#link, this.#messages, { filter, from: next, last: last.seq, headersOnly: true }, call);
  }

  async #takeIn(index: JournalIndex, message: StoredMessage, call: EngineCall): Promise<void> {
    const part = readPartHead(message.headers);
    const commit = readCommitHead(message.headers) ?? part;
    if (!commit) {
      index.end(tombstoneIn(message), message.seq);
      return;
    }
    // The journal was removed and created again in the meantime.
    if (commit.firstSeq === 1) index.clear();
    const hashes = readKeyHashes(message.headers) ?? (await this.#hashesInBody(commit, message.seq, call));
    if (part) index.addHidden(part, tombstoneIn(message), hashes, message.seq);
    else index.add(commit, await this.#stateOf(message, call), hashes, message.seq);
  }

  async #hashesInBody(commit: CommitHead, streamSeq: number, call: EngineCall): Promise<string[]> {
    const message = await this.#messages.at(streamSeq, call);
    const body = message && (await this.bodyOf(message, call));
    return body ? readEntries(commit, body).map(({ key }) => hashOfKey(key)) : [];
  }

  async #stateOf(message: StoredMessage, call: EngineCall): Promise<string> {
    const state = readState(message.headers);
    if (state !== null) return state;
    const whole = message.data.length > 0 ? message : await this.#messages.at(message.seq, call);
    const body = whole && (await this.bodyOf(whole, call));
    return body ? stateInBody(body) : '';
  }

  async read(
    name: JournalName,
    afterSeq: number,
    limit: number,
    index: JournalIndex | undefined,
    call: EngineCall,
  ): Promise<JournalEntry[]> {
    const id = idOf(name);
    const subject = this.#subjectOf(name);
    const entries: JournalEntry[] = [];
    let isLive: boolean | undefined;
    for await (const message of this.after(subject, this.#startOf(id, afterSeq, index), call)) {
      const part = readPartHead(message.headers);
      if (part) isLive ??= await this.#isLive(subject, call);
      const commit = part && isLive ? part : readCommitHead(message.headers);
      // The journal was removed, or begins again with this commit.
      if (!commit || commit.firstSeq === 1) entries.length = 0;
      if (!commit) continue;
      if (commit.firstSeq + commit.count - 1 > afterSeq) {
        const body = await this.bodyOf(message, call);
        for (const entry of body ? readEntries(commit, body) : []) {
          if (entry.seq > afterSeq && entries.length < limit) entries.push(entry);
        }
      }
      this.#remember(id, commit, message.seq, entries.at(-1)?.seq);
      if (entries.length === limit) break;
    }
    return entries;
  }

  /** Whether the journal ends with a commit, which makes its restored entries visible. */
  async #isLive(subject: string, call: EngineCall): Promise<boolean> {
    const last = await this.#messages.last(subject, call);
    return last !== null && readCommitHead(last.headers) !== null;
  }

  /** Returns the stream sequence from which to read for entries after a sequence. */
  #startOf(id: string, afterSeq: number, index: JournalIndex | undefined): number {
    if (afterSeq === 0) return 1;
    if (index?.head) return afterSeq >= index.head.seq ? index.last : index.streamSeqOf(afterSeq + 1);
    const position = this.#positions.get(id);
    return position && position.seq <= afterSeq ? position.streamSeq : 1;
  }

  /**
   * Records the position of the commit that precedes the given commit, so that a reader of the journal's end can start
   * there.
   */
  rememberBefore(name: JournalName, { firstSeq }: CommitHead, streamSeqBefore: number): void {
    const id = idOf(name);
    const seq = firstSeq - 2;
    const known = this.#positions.get(id);
    if (seq >= 0 && (!known || known.seq > seq)) this.#positions.set(id, { seq, streamSeq: streamSeqBefore });
  }

  /** Records a commit whose entries were all returned, so that the next read begins after it. */
  #remember(id: string, commit: CommitHead, streamSeq: number, lastGiven: number | undefined): void {
    const seq = commit.firstSeq + commit.count - 1;
    if (lastGiven === seq) this.#positions.set(id, { seq, streamSeq });
  }

  /** Returns the entries at sequences that the index contains. Reads each commit once. */
  async entriesAt(
    name: JournalName,
    index: JournalIndex,
    seqs: readonly (number | undefined)[],
    call: EngineCall,
  ): Promise<(JournalEntry | null)[]> {
    const commits = new Map<number, Promise<JournalEntry[]>>();
    const commitAt = (streamSeq: number) => {
      const entries = commits.get(streamSeq) ?? this.#commitAt(name, streamSeq, call);
      commits.set(streamSeq, entries);
      return entries;
    };
    return Promise.all(
      seqs.map(async (seq) => {
        if (seq === undefined) return null;
        const entries = await commitAt(index.streamSeqOf(seq));
        return entries[seq - (entries[0]?.seq ?? 0)] ?? null;
      }),
    );
  }

  async #commitAt(name: JournalName, streamSeq: number, call: EngineCall): Promise<JournalEntry[]> {
    const message = await this.#messages.at(streamSeq, call);
    const commit = message && (readCommitHead(message.headers) ?? readPartHead(message.headers));
    const body = commit && message.subject === this.#subjectOf(name) && (await this.bodyOf(message, call));
    return body ? readEntries(commit, body) : [];
  }

  /**
   * Yields messages of a filter starting at a stream sequence. Reads the first few one by one, and the rest through a
   * consumer.
   */
  async *after(filter: string, from: number, call: EngineCall): AsyncGenerator<StoredMessage, void, undefined> {
    let next = from;
    for (let count = 0; count < FEW; count++) {
      const message = await this.#messages.next(filter, next, call);
      if (!message) return;
      yield message;
      next = message.seq + 1;
    }
    const last = await this.#messages.last(filter, call);
    if (last && last.seq >= next) yield* walk(this.#link, this.#messages, { filter, from: next, last: last.seq }, call);
  }

  /** Yields all messages of a journal without their bodies. */
  async *headersOf(name: JournalName, call: EngineCall): AsyncGenerator<StoredMessage, void, undefined> {
    const filter = this.#subjectOf(name);
    const last = await this.#messages.last(filter, call);
    if (last) yield* walk(this.#link, this.#messages, { filter, from: 1, last: last.seq, headersOnly: true }, call);
  }

  messageAt(streamSeq: number, call: EngineCall): Promise<StoredMessage | null> {
    return this.#messages.at(streamSeq, call);
  }

  /** Returns the body of a message, including a spilled one, or `null` if its journal has been removed. */
  async bodyOf(message: StoredMessage, call: EngineCall): Promise<Buffer | null> {
    const parts = message.headers[HEADER.parts];
    return parts === undefined ? message.data : this.spill.read(message.subject, parts, call);
  }

  /** Returns the message to publish. Spills a body that is too large. */
  async fitting(
    subject: string,
    headers: Record<string, string | undefined>,
    body: Buffer,
    largestBody: number,
    call: EngineCall,
  ): Promise<{ headers: Record<string, string | undefined>; body: Buffer | string }> {
    if (body.length <= largestBody) return { headers, body };
    return { headers: { ...headers, [HEADER.parts]: await this.spill.write(subject, body, call) }, body: '' };
  }

  /**
   * Removes everything that precedes the end of a journal, with spilled parts up to `spilledUpTo`. That bound was read
   * before the end was written.
   */
  async removeBefore(name: JournalName, end: number, spilledUpTo: number | null, call: EngineCall): Promise<void> {
    const subject = this.#subjectOf(name);
    await this.#messages.purge(subject, end, call);
    if (spilledUpTo !== null) await this.spill.removeUpTo(subject, spilledUpTo, call);
    await this.checkpoints.remove(subject, call);
  }

  /**
   * Removes the commits that the rewritten commit at `streamSeq` replaced, if there is such a commit, because its
   * writer may have been interrupted.
   */
  async finishRewrite(name: JournalName, streamSeq: number, call: EngineCall): Promise<void> {
    const message = await this.#messages.at(streamSeq, call);
    const spilledUpTo = message?.headers[HEADER.rewritten];
    if (spilledUpTo !== undefined) await this.removeBefore(name, streamSeq, Number(spilledUpTo), call);
  }

  /** Removes the delete markers of a tenant whose journals are all removed. */
  removeMarkers(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void> {
    return removeMarkersUnder(this.#messages, tenantFilter(this.subject, space, tenantId), call);
  }

  #subjectOf(name: JournalName): string {
    return subjectOfJournal(this.subject, name).text;
  }
}

function tombstoneIn(message: StoredMessage): string | null {
  const end = message.headers[HEADER.end];
  return end === undefined || end === REMOVED ? null : (JSON.parse(end) as string);
}
