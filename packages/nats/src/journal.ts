/**
 * The journal primitive on JetStream: one subject per journal, one message per commit, published with the sequence of
 * the previous commit as a condition. The server itself therefore accepts only one writer at a time, and sequences have
 * no gaps. Keys are checked against an index of all keys.
 */
import {
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type Journal,
  type JournalBeginning,
  type JournalCommit,
  type JournalEntry,
  type JournalFeedItem,
  type JournalHead,
  type JournalName,
  type JournalOutcome,
  type JournalRange,
  type JournalRestore,
  type JournalRewrite,
  type JournalSpace,
  KeyedMutex,
  LruMap,
  type RemoveOptions,
  rewritten,
  type Signals,
  seqConflict,
} from '@tidemark/core/engine';
import { outcomeUnknown } from './errors.ts';
import {
  type CommitHead,
  encodeCarried,
  encodeCommit,
  encodeRestore,
  hashOfKey,
  type KeyHash,
  readCommitHead,
  readEntries,
  restoredFrom,
  rewritesHeader,
} from './journal/commits.ts';
import type { Heads } from './journal/heads.ts';
import type { JournalIndex } from './journal/journal-index.ts';
import { idOf } from './journal/journal-names.ts';
import { type JournalReader, REMOVED, subjectOfJournal } from './journal/journal-reader.ts';
import { noticeHeaders, noticesFollow, noticesOf, noticesToCarry } from './journal/notices.ts';
import { rewriteEntry } from './journal/rewriting.ts';
import { HEADER, type HeaderValues, headerJson } from './messages/headers.ts';
import type { StoredMessage } from './messages/messages.ts';
import type { Writer } from './messages/writer.ts';
import { nameOfSubject } from './streams/subjects.ts';

/** A stream of journals. Runs have their own stream because they are listed and have a feed. */
export interface JournalPart {
  reader: JournalReader;
  writer: Writer;
  heads: Heads;
}

export interface JournalContext {
  clock: () => number;
}

const MAX_INDEXED_KEYS = 500_000;
const CHECKPOINT_WITHIN_MS = 5_000;

export class NatsJournal implements Journal {
  readonly #runs: JournalPart;
  readonly #others: JournalPart;
  readonly #clock: () => number;
  readonly #signals: Signals;
  readonly #indexes = new LruMap<string, JournalIndex>(MAX_INDEXED_KEYS, ({ size }) => size + 1);
  readonly #journalMutex = new KeyedMutex();

  constructor(runs: JournalPart, others: JournalPart, signals: Signals, context: JournalContext) {
    this.#runs = runs;
    this.#others = others;
    this.#signals = signals;
    this.#clock = context.clock;
    for (const { reader } of [runs, others]) reader.onDoubt(() => this.#indexes.clear());
  }

  async head(name: JournalName, call: EngineCall): Promise<{ head: JournalHead | null; tombstone: string | null }> {
    return this.#part(name.space).reader.head(name, call);
  }

  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome> {
    const hashes = commit.entries.map(({ key }) => hashOfKey(key));
    const id = idOf(name);
    return this.#journalMutex.run(id, call, async () => {
      let index = this.#indexes.get(id);
      if (!index) {
        // Writes to a journal that is expected to be new without reading it. If the journal exists, the server refuses
        // the commit.
        index = await this.#part(name.space).reader.index(name, commit.known === 0 ? 'empty' : 'whole', call);
        this.#indexes.set(id, index);
      }
      const { seq, rewrites } = index.head ?? NO_POSITION;
      const follows = commit.follows === undefined || index.head?.state.includes(commit.follows) === true;
      const isKnown = seq === commit.known && (commit.rewrites ?? rewrites) === rewrites && follows;
      const fits = index.tombstone === null && isKnown;
      if (fits && !hashes.some((hash) => index.seqOf(hash) !== undefined)) {
        const time = await this.#publish(name, index, commit, hashes, call).catch((error) => {
          this.#indexes.delete(id);
          throw error;
        });
        if (time !== null) {
          this.#indexes.set(id, index);
          void this.#part(name.space).reader.checkpoint(name, index, { deadline: Date.now() + CHECKPOINT_WITHIN_MS });
          this.announce(name);
          return { committed: true, time };
        }
      }
      return this.#refusal(name, index, hashes, commit.entries, call);
    });
  }

  /** Publishes the commit and returns its time, or `null` if another writer was faster. */
  async #publish(
    name: JournalName,
    index: JournalIndex,
    { state, entries }: { state: string; entries: readonly { key: string; body: string }[] },
    hashes: readonly KeyHash[],
    call: EngineCall,
  ): Promise<number | null> {
    const { reader, writer } = this.#part(name.space);
    const subject = subjectOfJournal(reader.subject, name);
    const time = Math.max(this.#clock(), index.head?.updatedAt ?? 0);
    const head = {
      firstSeq: (index.head?.seq ?? 0) + 1,
      count: entries.length,
      time,
      createdAt: index.head?.createdAt ?? time,
      rewrites: index.head?.rewrites ?? 0,
    };
    const { headers, body } = encodeCommit({ head, state, entries }, hashes, subject.hashed ? name : null);
    const content = await reader.fitting(subject.text, headers, body, writer.largestBody, call);
    const streamSeq = await writer.publish({ subject: subject.text, expected: index.last, ...content }, call);
    if (streamSeq === null) return null;
    index.add(head, state, hashes, streamSeq);
    return time;
  }

  /** Returns the current state of the journal, which explains why the commit was refused. */
  async #refusal(
    name: JournalName,
    index: JournalIndex,
    hashes: readonly KeyHash[],
    entries: readonly { key: string }[],
    call: EngineCall,
  ): Promise<JournalOutcome> {
    await this.#part(name.space).reader.refresh(name, index, call);
    this.#indexes.set(idOf(name), index);
    const found = await this.#entriesOf(
      name,
      index,
      entries.map(({ key }) => key),
      hashes,
      call,
    );
    return {
      committed: false,
      head: index.head && { ...index.head },
      tombstone: index.tombstone,
      found: found.filter((entry) => entry !== null),
    };
  }

  read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]> {
    return this.#part(name.space).reader.read(name, afterSeq, limit, this.#indexes.get(idOf(name)), call);
  }

  find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]> {
    const id = idOf(name);
    const { reader } = this.#part(name.space);
    return this.#journalMutex.run(id, call, async () => {
      let index = this.#indexes.get(id);
      if (index) await reader.refresh(name, index, call);
      else index = await reader.index(name, 'whole', call);
      this.#indexes.set(id, index);
      return this.#entriesOf(name, index, keys, keys.map(hashOfKey), call);
    });
  }

  async #entriesOf(
    name: JournalName,
    index: JournalIndex,
    keys: readonly string[],
    hashes: readonly KeyHash[],
    call: EngineCall,
  ): Promise<(JournalEntry | null)[]> {
    const seqs = hashes.map((hash) => index.seqOf(hash));
    const entries = await this.#part(name.space).reader.entriesAt(name, index, seqs, call);
    return entries.map((entry, at) => (entry?.key === keys[at] ? entry : null));
  }

  async remove(
    name: JournalName,
    tombstone: string | null,
    { expectedSeq, expectedRewrites, keepsName, notice, ...call }: RemoveOptions,
  ): Promise<number> {
    const { reader, writer } = this.#part(name.space);
    const subject = subjectOfJournal(reader.subject, name);
    this.#indexes.delete(idOf(name));
    for (;;) {
      const spilledUpTo = await reader.spill.writtenUpTo(call);
      const { head, last, rewrites, restoring } = await reader.headWithPosition(name, call);
      if (head === null) {
        // An interrupted removal may have left messages that precede the end marker.
        if (last > 0) await reader.removeBefore(name, last, spilledUpTo, call);
        return 0;
      }
      if (expectedSeq !== undefined && restoring) return 0;
      if (expectedSeq !== undefined && head.seq !== expectedSeq) throw seqConflict(name.name, expectedSeq, head.seq);
      if (expectedRewrites !== undefined && rewrites !== expectedRewrites) throw rewritten(name.name, rewrites);
      const carried = rewrites > 0 || restoring ? await noticesToCarry(reader, name, call) : [];
      const headers = {
        [HEADER.end]: tombstone === null ? REMOVED : headerJson(tombstone),
        [HEADER.kept]: keepsName ? '1' : undefined,
        [HEADER.rewrites]: rewritesHeader(rewrites),
        [HEADER.name]: subject.hashed ? headerJson([name.tenantId, name.name]) : undefined,
        ...noticeHeaders(notice, carried),
      };
      const content = await reader.fitting(subject.text, headers, encodeCarried(carried), writer.largestBody, call);
      const published = await writer.publish({ subject: subject.text, expected: last, ...content }, call);
      if (published === null) continue;
      // The end marker is stored first, so that a crash after this point may leave messages behind but never a part of
      // the journal.
      await reader
        .removeBefore(name, published, spilledUpTo, call)
        .catch((error) => Promise.reject(outcomeUnknown(error)));
      this.announce(name);
      return head.seq;
    }
  }

  /** Stores each step as a message. A tombstone hides the message until the last step, which is an ordinary commit. */
  restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean> {
    const id = idOf(name);
    const { reader, writer } = this.#part(name.space);
    return this.#journalMutex.run(id, call, async () => {
      const { head, tombstone, last, rewrites, restoring } = await reader.headWithPosition(name, call);
      const isKnown = tombstone === step.known.tombstone && (restoring ? head!.seq : 0) === step.known.seq;
      if (!isKnown || (head && !restoring)) return false;
      // Spilled parts stay, because some may belong to another process that is restoring the same journal.
      if (!restoring && last > 0) await reader.removeBefore(name, last, null, call);
      this.#indexes.delete(id);
      const subject = subjectOfJournal(reader.subject, name);
      const first = restoring?.from ?? null;
      const { headers, body } = encodeRestore(
        { head: restoredHead(step, rewrites), state: step.head.state, entries: step.entries },
        step.entries.map(({ key }) => hashOfKey(key)),
        subject.hashed ? name : null,
        { tombstone: step.tombstone, first, isLast: step.isLast },
      );
      const noticed = { ...headers, ...noticeHeaders(step.isLast ? step.notice : undefined, []) };
      const content = await reader.fitting(subject.text, noticed, body, writer.largestBody, call);
      const published = await writer.publish({ subject: subject.text, expected: last, ...content }, call);
      if (published !== null && step.isLast) this.announce(name);
      return published !== null;
    });
  }

  /**
   * Publishes an ordinary commit after the end marker of the removed journal, on the condition that the marker is still
   * the last message.
   */
  begin(name: JournalName, beginning: JournalBeginning, call: EngineCall) {
    const id = idOf(name);
    const { reader, writer } = this.#part(name.space);
    return this.#journalMutex.run(id, call, async () => {
      const { head, tombstone, last, rewrites: before } = await reader.headWithPosition(name, call);
      if (head !== null || tombstone !== beginning.tombstone) return null;
      await reader.removeBefore(name, last, null, call);
      this.#indexes.delete(id);
      const { state, entries } = beginning;
      const subject = subjectOfJournal(reader.subject, name);
      const [time, rewrites] = [this.#clock(), before + 1];
      const { headers, body } = encodeCommit(
        { head: { firstSeq: 1, count: entries.length, time, createdAt: time, rewrites }, state, entries },
        entries.map(({ key }) => hashOfKey(key)),
        subject.hashed ? name : null,
      );
      const content = await reader.fitting(subject.text, headers, body, writer.largestBody, call);
      const published = await writer.publish({ subject: subject.text, expected: last, ...content }, call);
      if (published === null) return null;
      this.announce(name);
      return { time, rewrites };
    });
  }

  rewrite(name: JournalName, seq: number, body: JournalRewrite, call: EngineCall): Promise<boolean> {
    const id = idOf(name);
    return this.#journalMutex.run(id, call, () => {
      this.#indexes.delete(id);
      return rewriteEntry(this.#part(name.space), name, seq, body, call);
    });
  }

  async forget(name: JournalName, call: EngineCall): Promise<number> {
    const { reader, writer } = this.#part(name.space);
    const subject = subjectOfJournal(reader.subject, name);
    this.#indexes.delete(idOf(name));
    for (;;) {
      const spilledUpTo = await reader.spill.writtenUpTo(call);
      const { head, tombstone, last } = await reader.headWithPosition(name, call);
      if (head === null && tombstone === null) {
        if (last > 0) await reader.removeBefore(name, last, spilledUpTo, call);
        return 0;
      }
      const headers = {
        [HEADER.end]: REMOVED,
        [HEADER.name]: subject.hashed ? headerJson([name.tenantId, name.name]) : undefined,
      };
      const published = await writer.publish({ subject: subject.text, expected: last, headers, body: '' }, call);
      if (published === null) continue;
      await reader
        .removeBefore(name, published, spilledUpTo, call)
        .catch((error) => Promise.reject(outcomeUnknown(error)));
      this.announce(name);
      return head?.seq ?? 0;
    }
  }

  tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    return this.#part(space).heads.tenants(space, after, limit, call);
  }

  names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]> {
    return this.#part(space).heads.names(space, tenantId, after, limit, call);
  }

  clear(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void> {
    return this.#part(space).reader.removeMarkers(space, tenantId, call);
  }

  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]> {
    return this.#part(space).heads.tenantsOf(name, call);
  }

  list(space: JournalSpace, range: JournalRange, call: EngineCall) {
    return this.#part(space).heads.list(space, range, call);
  }

  async feed(space: JournalSpace, after: string | null, limit: number, call: EngineCall, notices = false) {
    const { reader } = this.#part(space);
    const start = after === null ? NO_CURSOR : decodeCursor<number[]>(after, isFeedCursor);
    let [streamSeq, skip = 0, noticesSent = 0] = start as [number, number?, number?];
    const found: JournalFeedItem[] = [];
    for await (const message of reader.allAfter(skip + noticesSent > 0 ? streamSeq : streamSeq + 1, call)) {
      if (message.seq !== streamSeq) [skip, noticesSent] = [0, 0];
      streamSeq = message.seq;
      const commit = readCommitHead(message.headers);
      const texts = notices ? await noticesOf(reader, message, call) : [];
      if (!commit && texts.length === 0) continue;
      const named = nameOfSubject(reader.subject, message.subject, message.headers[HEADER.name]);
      if (named.space !== space) continue;
      const name = { space, tenantId: named.tenantId, name: named.name };
      if (commit) reader.rememberBefore(name, commit, Number(message.headers[HEADER.expected]));
      const count = commit ? fedCount(message.headers, commit) : 0;
      // Within a message, the cursor counts the entries and notices already returned from it. After the message, the
      // cursor is only the message's position.
      const cursor = () => {
        if (skip === count && noticesSent === texts.length) return encodeCursor([streamSeq, 0]);
        return encodeCursor(noticesSent === 0 ? [streamSeq, skip] : [streamSeq, skip, noticesSent]);
      };
      const addNotices = () => {
        while (noticesSent < texts.length && found.length < limit) {
          const notice = texts[noticesSent++]!;
          found.push({ cursor: cursor(), name: { ...name }, notice });
        }
      };
      if (!noticesFollow(message.headers)) addNotices();
      const left = Math.min(limit - found.length, count - skip);
      for (const entry of commit && left > 0 ? await this.#fedBy(name, message, commit, skip, left, call) : []) {
        skip++;
        found.push({ cursor: cursor(), name: { ...name }, entry });
      }
      if (noticesFollow(message.headers)) addNotices();
      if (found.length === limit) break;
    }
    return found;
  }

  /**
   * Returns the entries that a commit adds to the feed, except the first `skip` entries. The last step of a restore
   * yields the whole journal.
   */
  async #fedBy(
    name: JournalName,
    message: StoredMessage,
    commit: CommitHead,
    skip: number,
    limit: number,
    call: EngineCall,
  ): Promise<JournalEntry[]> {
    const { reader } = this.#part(name.space);
    if (restoredFrom(message.headers) === null) {
      const body = await reader.bodyOf(message, call);
      return body ? readEntries(commit, body).slice(skip, skip + limit) : [];
    }
    const entries = await reader.read(name, skip, limit, undefined, call);
    return entries.filter(({ seq }) => seq <= fedCount(message.headers, commit));
  }

  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    this.#part(space).heads.listen();
    return this.#signals.wait(name ? idOf(name) : space, call);
  }

  /** Wakes waiters for this journal, or for any journal of its space. */
  announce(name: JournalName): void {
    this.#signals.notify(idOf(name));
    this.#signals.notify(name.space);
  }

  #part(space: JournalSpace): JournalPart {
    return space === 'runs' ? this.#runs : this.#others;
  }
}

/**
 * Returns the head of a step. Its times are the times of its entries, or in the last step the times of the whole
 * journal. `before` is the journal's `rewrites` so far.
 */
function restoredHead({ head, entries, isLast }: JournalRestore, before: number): CommitHead {
  const firstSeq = entries[0]?.seq ?? head.seq + 1;
  const rewrites = isLast ? Math.max(before, head.rewrites) + 1 : before;
  return { firstSeq, count: entries.length, time: head.updatedAt, createdAt: head.createdAt, rewrites };
}

/** The position of an absent journal. */
const NO_POSITION = { seq: 0, rewrites: 0 };

/** The number of entries that a commit yields in the feed. */
function fedCount(headers: HeaderValues, { firstSeq, count }: CommitHead): number {
  return restoredFrom(headers) === null ? count : firstSeq + count - 1;
}

const NO_CURSOR = [0, 0];

/**
 * The sequence of a message. If the message is not finished, it also includes the numbers of entries and notices
 * already returned from it.
 */
function isFeedCursor(values: unknown[]): boolean {
  return (
    (values.length === 2 || values.length === 3) &&
    values.every((value) => Number.isSafeInteger(value) && (value as number) >= 0)
  );
}
