/**
 * The records primitive on JetStream: one subject per record. The last message of the subject is the record, and the
 * sequence of that message is the revision. A step reads, decides and publishes on the condition that the revision has
 * not changed. Times come from the writer's clock.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import {
  ChangeQueue,
  corruptValue,
  type EngineCall,
  firstAfter,
  type IndexedRecord,
  type IndexRange,
  KeyedMutex,
  meets,
  REMEMBERED_REQUESTS,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordSpace,
  type RecordState,
  type Records,
  type RecordWrite,
  recordAfter,
  requestsAfter,
  type ScannedRecord,
  type ScanRange,
  type StoredRecord,
  sleep,
  startsAnew,
} from '@tidemark/core/engine';
import { isOver, type Link, RETRY_DELAY_MS } from './connection/link.ts';
import { outcomeUnknown } from './errors.ts';
import { removeMarkers, removeMarkersUnder } from './messages/delete-markers.ts';
import { HEADER } from './messages/headers.ts';
import { messageSum } from './messages/message-sums.ts';
import type { Messages, StoredMessage } from './messages/messages.ts';
import type { Spill } from './messages/spill.ts';
import type { Writer } from './messages/writer.ts';
import type { KeptRequests } from './records/kept-requests.ts';
import {
  endBody,
  endHeaders,
  type HeldRequests,
  NO_REQUESTS,
  type RecordEnd,
  readRecordHead,
  recordBody,
  recordHeaders,
} from './records/record-messages.ts';
import { RecordMirror } from './records/record-mirror.ts';
import { type Found, type ReadRecord, RecordReader } from './records/record-reader.ts';
import { Follower } from './streams/consumers.ts';
import { nameOfSubject, type Subject, tenantFilter } from './streams/subjects.ts';

const MAX_TRIES = 200;
const EAGER_TRIES = 8;
/** Number of records that a scan reads at a time. */
const SCAN_STEP = 200;
/**
 * The maximum number of request ids in a message. It is larger than the number to remember, so that ids are moved out
 * of the record in groups.
 */
const MAX_REQUESTS = 2 * REMEMBERED_REQUESTS;

export interface RecordParts {
  link: Link;
  messages: Messages;
  writer: Writer;
  spill: Spill;
  /** Stores request ids that no longer fit in their record. Absent for the records that store such ids. */
  kept?: KeptRequests;
  /** The records of the space `requests`, in their own stream. */
  requests?: NatsRecords;
  clock: () => number;
}

export class NatsRecords implements Records {
  readonly #parts: RecordParts;
  readonly #mirror: RecordMirror;
  readonly #reader: RecordReader;
  readonly #subjectMutex = new KeyedMutex();

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#mirror = new RecordMirror(parts.link, parts.messages, parts.clock);
    this.#reader = new RecordReader({ ...parts, mirror: this.#mirror });
  }

  get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    return this.#homeOf(names[0]).#reader.get(names, call);
  }

  /** Returns the records primitive that holds a name. */
  #homeOf(name: RecordName | undefined): NatsRecords {
    return name?.space === 'requests' ? (this.#parts.requests ?? this) : this;
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    const [record] = await this.#reader.get([name], call);
    return record?.fields.get(field) ?? null;
  }

  async write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    const home = this.#homeOf(write.name);
    if (home !== this) return home.write(write, call);
    const subject = this.#reader.subjectOf(write.name);
    return this.#subjectMutex.run(subject.text, call, async () => {
      // A cached record is sufficient for a write, because the server refuses the write if the cached record is
      // outdated. A cached record is never a reason to refuse a write here.
      const seen = this.#reader.seen(subject);
      const quick = seen && (await this.#attempt(write, subject, seen, false, call));
      if (quick) return quick;
      for (let tries = 1; tries <= MAX_TRIES; tries++) {
        const outcome = await this.#attempt(write, subject, await this.#reader.find(subject, call), true, call);
        if (outcome) return outcome;
        if (isOver(call)) break;
        if (tries > EAGER_TRIES) await sleep(RETRY_DELAY_MS);
      }
      throw new TidemarkError(
        'OVERLOADED',
        'Too many writers change the same record at once; nothing was written, try again',
      );
    });
  }

  /**
   * Decides and publishes. Returns `null` if another writer was faster, or if a condition fails on a cached record,
   * which may be outdated.
   */
  async #attempt(
    write: RecordWrite,
    subject: Subject,
    found: Found,
    isCurrent: boolean,
    call: EngineCall,
  ): Promise<RecordOutcome | null> {
    if (found.damaged && !startsAnew(write)) throw corruptValue('record', write.name.key);
    const before = this.#reader.live(found);
    const existed = before !== undefined;
    const answered = await this.#isAnswered(write, found, call);
    if (answered || !meets(write, before)) {
      const had = existed || (answered && write.mode === 'delete');
      return isCurrent ? { applied: answered, record: this.#reader.copy(before), existed: had } : null;
    }
    const after = recordAfter(write, before, 0, this.#parts.clock());
    if (after === null && !existed) return isCurrent ? { applied: true, record: null, existed } : null;
    const requests = await this.#requestsAfter(write, found.requests, call);
    this.#reader.forget(subject);
    const revision =
      after === null
        ? await this.#end(write.name, subject, { ...found, requests }, 'delete', call)
        : await this.#put(write.name, subject, { ...found, requests }, after, call);
    if (revision === null) return null;
    const state = after ? { ...after, revision } : undefined;
    this.#reader.remember(subject, { revision, state, requests, spilled: false });
    return { applied: true, record: this.#reader.copy(state), existed };
  }

  /** Whether this request was already executed. */
  async #isAnswered(
    { name, requestId, requestIsNew }: RecordWrite,
    { requests }: Found,
    call: EngineCall,
  ): Promise<boolean> {
    if (requestId === undefined || requestIsNew) return false;
    if (requests.ids.includes(requestId)) return true;
    return (await this.#parts.kept?.has(name, requestId, requests.leftAt, call)) ?? false;
  }

  /**
   * Returns the request ids for the next message of a record or of its end marker. Ids that no longer fit are stored
   * elsewhere before that message is written.
   */
  async #requestsAfter(
    { name, requestId }: RecordWrite,
    { ids, leftAt }: HeldRequests,
    call: EngineCall,
  ): Promise<HeldRequests> {
    const { held, left } = requestsAfter(ids, requestId, true, MAX_REQUESTS);
    if (left.length === 0) return { ids: held, leftAt };
    await this.#parts.kept?.keep(name, left, call);
    return { ids: held, leftAt: this.#parts.clock() };
  }

  async #put(
    name: RecordName,
    subject: Subject,
    found: Found,
    state: RecordState,
    call: EngineCall,
  ): Promise<number | null> {
    const { writer, spill } = this.#parts;
    const body = recordBody(state, found.requests);
    const about = recordHeaders(name, state, found.requests, subject.hashed);
    const headers = { ...about, [HEADER.sum]: messageSum(subject.text, about, body) };
    const publish = (content: { headers: Record<string, string | undefined>; body: Buffer | string }) =>
      writer.publish({ subject: subject.text, expected: found.revision, ...content }, call);
    if (body.length <= writer.largestBody) {
      const removeSpilled = await this.#spilledBefore(subject, found.spilled, call);
      const revision = await publish({ headers, body });
      if (revision !== null) await removeSpilled();
      return revision;
    }
    const parts = await spill.write(subject.text, body, call);
    const revision = await publish({ headers: { ...headers, [HEADER.parts]: parts }, body: '' });
    if (revision !== null) await spill.removeBefore(subject.text, parts, call).catch(ignore);
    return revision;
  }

  async #end(
    name: RecordName,
    subject: Subject,
    { revision, requests, spilled }: Omit<Found, 'state'>,
    end: RecordEnd,
    call: EngineCall,
  ): Promise<number | null> {
    const headers = endHeaders(name, end, subject.hashed);
    const removeSpilled = await this.#spilledBefore(subject, spilled, call);
    const seq = await this.#parts.writer.publish(
      { subject: subject.text, expected: revision, headers, body: endBody(requests) },
      call,
    );
    if (seq !== null) await removeSpilled();
    return seq;
  }

  /**
   * Returns a function that removes the spilled parts of the version that is about to be replaced. The last sequence of
   * the parts is read before the new version is published, because a later read could include the parts of a newer
   * writer, which would then be removed.
   */
  async #spilledBefore(subject: Subject, spilled: boolean, call: EngineCall): Promise<() => Promise<void>> {
    if (!spilled) return async () => {};
    const { spill } = this.#parts;
    const upTo = await spill.writtenUpTo(call);
    return () => spill.removeUpTo(subject.text, upTo, call).catch(ignore);
  }

  /**
   * Checks all conditions first, then applies the writes in order. Each write repeats its condition, because there are
   * no transactions over several subjects.
   */
  async batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    if (writes.every(({ mode, expect }) => mode === 'delete' && expect === undefined))
      return this.#deleteAll(writes, call);
    const records = await Promise.all(writes.map(({ name }) => this.#find(name, call)));
    const before = records.map((found) => this.#reader.live(found));
    const answered = await Promise.all(writes.map((write, at) => this.#isAnswered(write, records[at]!, call)));
    if (!writes.every((write, at) => answered[at] || meets(write, before[at]))) {
      return before.map((state) => ({
        applied: false,
        record: this.#reader.copy(state),
        existed: state !== undefined,
      }));
    }
    const outcomes: RecordOutcome[] = [];
    for (const write of writes) {
      try {
        const outcome = await this.write(write, call);
        outcomes.push(outcome);
        // Another writer was faster. Stop, because later writes depend on this one.
        if (!outcome.applied) break;
      } catch (error) {
        throw outcomes.length > 0 ? someWritten(error) : error;
      }
    }
    const applied = outcomes.length === writes.length && outcomes.every((outcome) => outcome.applied);
    return writes.map((_, at) => ({ ...(outcomes[at] ?? { record: null, existed: false }), applied }));
  }

  /** Deletes records that do not depend on each other. They wait for the server together, not one after the other. */
  async #deleteAll(deletions: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const settled = await Promise.allSettled(deletions.map((deletion) => this.write(deletion, call)));
    const failed = settled.find((it) => it.status === 'rejected');
    if (failed) throw settled.some((it) => it.status === 'fulfilled') ? someWritten(failed.reason) : failed.reason;
    return settled.map((it) => (it as PromiseFulfilledResult<RecordOutcome>).value);
  }

  #find(name: RecordName, call: EngineCall): Promise<Found> {
    const reader = this.#homeOf(name).#reader;
    return reader.find(reader.subjectOf(name), call);
  }

  async scan(space: RecordSpace, tenantId: string, range: ScanRange, call: EngineCall): Promise<ScannedRecord[]> {
    if (range.keysOnly) {
      await this.#mirror.caughtUp(call);
      return this.#mirror.keys(space, tenantId, range, range.limit);
    }
    const next = (after: { key: string } | undefined, count: number) =>
      this.#mirror.keys(space, tenantId, { ...range, after: after?.key ?? range.after }, count);
    return this.#scan(space, tenantId, range.limit, next, call);
  }

  async scanIndex(tenantId: string, range: IndexRange, call: EngineCall): Promise<IndexedRecord[]> {
    const next = (after: { indexKey: string; key: string } | undefined, count: number) =>
      this.#mirror.indexKeys(tenantId, { ...range, ...(after && { after }) }, count);
    return this.#scan('kv', tenantId, range.limit, next, call);
  }

  /**
   * Yields the records that the mirror lists, a step at a time. Some of them turn out to be removed or expired when
   * they are read.
   */
  async #scan<Listed extends { key: string }>(
    space: RecordSpace,
    tenantId: string,
    limit: number,
    next: (after: Listed | undefined, count: number) => Listed[],
    call: EngineCall,
  ): Promise<(Listed & ReadRecord)[]> {
    await this.#mirror.caughtUp(call);
    const found: (Listed & ReadRecord)[] = [];
    let after: Listed | undefined;
    while (found.length < limit) {
      const count = Math.min(SCAN_STEP, limit - found.length);
      const listed = next(after, count);
      const names = listed.map(({ key }) => ({ space, tenantId, key }));
      const records = await this.#reader.getMarked(names, call);
      for (const [at, record] of records.entries()) if (record) found.push({ ...listed[at]!, ...record });
      if (listed.length < count) break;
      after = listed.at(-1);
    }
    return found;
  }

  async now(): Promise<number> {
    return this.#parts.clock();
  }

  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const { link, messages } = this.#parts;
    const queue = new ChangeQueue(signal);
    // Spilled bodies take time to read. Later changes wait for them to keep the order.
    let pending = Promise.resolve();
    const follower = new Follower(link, {
      messages,
      filter: tenantFilter(messages.subject, space, tenantId),
      start: 'new',
      headersOnly: false,
      onMessage: (message) => {
        const key = nameOfSubject(messages.subject, message.subject, message.headers[HEADER.name]).name;
        if (!key.startsWith(prefix)) return;
        pending = pending.then(async () => {
          const change = await this.#changeOf(key, message).catch(() => null);
          if (change) queue.push(change);
        });
      },
    });
    signal.addEventListener('abort', () => follower.stop(), { once: true });
    return stopping(queue.changes(), () => follower.stop());
  }

  async #changeOf(key: string, message: StoredMessage): Promise<RecordChange | null> {
    const { end } = readRecordHead(message.headers);
    if (end !== null) return { key, type: end, record: null };
    const state = await this.#reader.stateOf(message, {});
    // The parts were removed because a newer version was stored. The newer version is reported separately.
    return state && { key, type: 'put', record: this.#reader.copy(state) };
  }

  async removeExpired(limit: number, call: EngineCall): Promise<number> {
    await this.#mirror.caughtUp(call);
    let removed = 0;
    for (const { name, revision, hasRequests } of this.#mirror.expired(limit)) {
      const { requests } = hasRequests ? await this.#find(name, call) : { requests: NO_REQUESTS };
      const expired = { revision, requests, spilled: true };
      // The server refuses this if the record was written again in the meantime. The state that was read does not
      // matter then.
      if ((await this.#end(name, this.#reader.subjectOf(name), expired, 'expire', call)) !== null) removed++;
    }
    return removed;
  }

  async tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    await this.#mirror.caughtUp(call);
    return firstAfter(this.#mirror.tenants(space), after, limit);
  }

  async erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]> {
    await this.#mirror.caughtUp(call);
    const { messages } = this.#parts;
    const found = this.#mirror.records(space, tenantId, limit);
    for (const { key, revision } of found) {
      const name = { space, tenantId, key };
      const subject = this.#reader.subjectOf(name);
      this.#reader.forget(subject);
      const seq = await this.#end(name, subject, { revision, requests: NO_REQUESTS, spilled: true }, 'delete', call);
      // If the record was written in the meantime, a later pass finds it. Versions before the delete marker are purged
      // at once, because they contain its data.
      if (seq !== null) await messages.purge(subject.text, seq, call);
    }
    if (found.length === 0) {
      await removeMarkersUnder(messages, tenantFilter(messages.subject, space, tenantId), call);
      await this.#parts.kept?.erase(tenantId, call);
    }
    return found.map(({ key }) => key);
  }

  /** Removes the delete markers under a prefix whose records are all removed. */
  async clear(space: RecordSpace, tenantId: string, prefix: string, call: EngineCall): Promise<void> {
    await this.#mirror.caughtUp(call);
    await removeMarkers(this.#parts.messages, this.#mirror.markersUnder(space, tenantId, prefix), call);
  }

  /** Removes old delete markers of records. */
  removeMarkers(limit: number, call: EngineCall): Promise<number> {
    return this.#mirror.removeMarkers(limit, call);
  }

  stop(): void {
    this.#mirror.stop();
  }
}

/** Returns the error of a batch of which some writes are stored and others failed. */
function someWritten(error: unknown): unknown {
  return isTidemarkError(error, 'OUTCOME_UNKNOWN') ? error : outcomeUnknown(error);
}

/** Ignores the failure: the write itself is stored, and the next version removes the parts. */
function ignore(): void {}

async function* stopping(changes: AsyncIterable<RecordChange>, stop: () => void): AsyncIterable<RecordChange> {
  try {
    yield* changes;
  } finally {
    stop();
  }
}
