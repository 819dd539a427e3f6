/**
 * The records primitive on JetStream: one subject per record, its last message the record, its sequence the revision. A step reads,
 * decides and publishes against the revision it read; times are the writer's clock.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import {
  ChangeQueue,
  type EngineCall,
  firstAfter,
  isAnswered,
  meets,
  type PlacedRecord,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordSpace,
  type RecordState,
  type Records,
  type RecordWrite,
  recordAfter,
  type ScannedRecord,
  type StoredRecord,
  Turns,
} from '@tidemark/core/engine';
import { Follower } from './consumers.ts';
import { outcomeUnknown } from './errors.ts';
import { HEADER } from './headers.ts';
import { isOver, type Link, pause } from './link.ts';
import { removeMarks, removeMarksOf } from './marks.ts';
import type { Messages, StoredMessage } from './messages.ts';
import { Recent } from './recent.ts';
import {
  endHeaders,
  type RecordEnd,
  readRecord,
  readRecordHead,
  recordBody,
  recordHeaders,
} from './record-messages.ts';
import { RecordMirror } from './record-mirror.ts';
import type { Spill } from './spill.ts';
import { nameOfSubject, type Subject, subjectOf, tenantFilter } from './subjects.ts';
import type { Writer } from './writer.ts';

/** What a subject holds now. */
interface Found {
  /** Of the last message, whatever it says; 0 when there is none. */
  revision: number;
  /** The record, expired or not. */
  state: RecordState | undefined;
  spilled: boolean;
}

const MAX_TRIES = 200;
const EAGER_TRIES = 8;
/** From so many records on it is cheaper to ask the mirror which of them have changed. */
const MANY = 4;
const MAX_SEEN_BYTES = 16 * 1024 * 1024;
/** What an entry takes besides the values, roughly. */
const ENTRY_BYTES = 500;
/** A record over this size is always looked at again. */
const LARGE = 64 * 1024;
/** How many records a scan asks for at a time. */
const SCAN_STEP = 200;

export interface RecordParts {
  link: Link;
  messages: Messages;
  writer: Writer;
  spill: Spill;
  clock: () => number;
}

export class NatsRecords implements Records {
  readonly #parts: RecordParts;
  readonly #mirror: RecordMirror;
  readonly #turns = new Turns();
  /** Records that were read or written last, to be written to without another look. */
  readonly #seen = new Recent<Found>(MAX_SEEN_BYTES, ({ state }) => ENTRY_BYTES + (state ? bytesOf(state) : 0));

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#mirror = new RecordMirror(parts.link, parts.messages, parts.clock);
  }

  async get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    if (names.length < MANY || !this.#mirror.started) return Promise.all(names.map((name) => this.#get(name, call)));
    await this.#mirror.caughtUp(call);
    return this.#getMany(names, call);
  }

  /** Of records whose revision the mirror knows, only those are asked for that were not seen at it. */
  #getMany(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    return Promise.all(
      names.map((name) => {
        const revision = this.#mirror.revisionOf(name);
        if (revision === 0) return null;
        const seen = this.#seen.get(this.#subjectOf(name).text);
        if (seen?.revision !== revision) return this.#get(name, call);
        return this.#isLive(seen.state) ? this.#copy(seen.state) : null;
      }),
    );
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    return (await this.#get(name, call))?.fields.get(field) ?? null;
  }

  async write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    const subject = this.#subjectOf(write.name);
    return this.#turns.take(subject.text, call, async () => {
      // What was seen last is as good as what is there, if the server takes a write against it; a refusal never rests on it.
      const seen = this.#seen.get(subject.text);
      const quick = seen && (await this.#attempt(write, subject, seen, false, call));
      if (quick) return quick;
      for (let tries = 1; tries <= MAX_TRIES; tries++) {
        const outcome = await this.#attempt(write, subject, await this.#find(subject, call), true, call);
        if (outcome) return outcome;
        if (isOver(call)) break;
        if (tries > EAGER_TRIES) await pause();
      }
      throw new TidemarkError(
        'OVERLOADED',
        'Too many writers change the same record at once; nothing was written, try again',
      );
    });
  }

  /** Decides and publishes; `null` when another writer came between, or a refusal would rest on what is only remembered. */
  async #attempt(
    write: RecordWrite,
    subject: Subject,
    found: Found,
    isCurrent: boolean,
    call: EngineCall,
  ): Promise<RecordOutcome | null> {
    const before = this.#isLive(found.state) ? found.state : undefined;
    const existed = before !== undefined;
    const answered = isAnswered(write, before);
    if (answered || !meets(write, before))
      return isCurrent ? { applied: answered, record: this.#copy(before), existed } : null;
    const after = recordAfter(write, before, 0, this.#parts.clock());
    if (after === null && !existed) return isCurrent ? { applied: true, record: null, existed } : null;
    this.#seen.delete(subject.text);
    const revision =
      after === null
        ? await this.#end(write.name, subject, found, 'delete', call)
        : await this.#put(write.name, subject, found, after, call);
    if (revision === null) return null;
    const state = after ? { ...after, revision } : undefined;
    this.#remember(subject, { revision, state, spilled: false });
    return { applied: true, record: this.#copy(state), existed };
  }

  async #put(
    name: RecordName,
    subject: Subject,
    found: Found,
    state: RecordState,
    call: EngineCall,
  ): Promise<number | null> {
    const { writer, spill } = this.#parts;
    const body = recordBody(state);
    const headers = recordHeaders(name, state, subject.hashed);
    const publish = (content: { headers: Record<string, string | undefined>; body: Buffer | string }) =>
      writer.publish({ subject: subject.text, expected: found.revision, ...content }, call);
    if (body.length <= writer.largestBody) {
      const revision = await publish({ headers, body });
      if (revision !== null && found.spilled) await spill.removeAll(subject.text, call).catch(left);
      return revision;
    }
    const parts = await spill.write(subject.text, body, call);
    const revision = await publish({ headers: { ...headers, [HEADER.parts]: parts }, body: '' });
    if (revision !== null) await spill.removeBefore(subject.text, parts, call).catch(left);
    return revision;
  }

  async #end(
    name: RecordName,
    subject: Subject,
    { revision, spilled }: Pick<Found, 'revision' | 'spilled'>,
    end: RecordEnd,
    call: EngineCall,
  ): Promise<number | null> {
    const headers = endHeaders(name, end, subject.hashed);
    const place = await this.#parts.writer.publish(
      { subject: subject.text, expected: revision, headers, body: '' },
      call,
    );
    if (place !== null && spilled) await this.#parts.spill.removeAll(subject.text, call).catch(left);
    return place;
  }

  /** Conditions first; then each in order, conditional again: there is no step over several subjects. */
  async batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const records = await Promise.all(writes.map(({ name }) => this.#find(this.#subjectOf(name), call)));
    const before = records.map(({ state }) => (this.#isLive(state) ? state : undefined));
    if (!writes.every((write, at) => isAnswered(write, before[at]) || meets(write, before[at]))) {
      return before.map((state) => ({ applied: false, record: this.#copy(state), existed: state !== undefined }));
    }
    const outcomes: RecordOutcome[] = [];
    for (const write of writes) {
      try {
        outcomes.push(await this.write(write, call));
      } catch (error) {
        // Whatever this one came to, those before it are written.
        throw outcomes.length > 0 && !isTidemarkError(error, 'OUTCOME_UNKNOWN') ? outcomeUnknown(error) : error;
      }
    }
    const applied = outcomes.every((outcome) => outcome.applied);
    return outcomes.map((outcome) => ({ ...outcome, applied }));
  }

  async scan(
    space: RecordSpace,
    tenantId: string,
    range: { prefix: string; after: string | null; limit: number },
    call: EngineCall,
  ): Promise<ScannedRecord[]> {
    await this.#mirror.caughtUp(call);
    const found: ScannedRecord[] = [];
    let { after } = range;
    while (found.length < range.limit) {
      const count = Math.min(SCAN_STEP, range.limit - found.length);
      const keys = this.#mirror.keys(space, tenantId, range.prefix, after, count);
      const records = await this.#getMany(
        keys.map((key) => ({ space, tenantId, key })),
        call,
      );
      keys.forEach((key, at) => {
        const record = records[at];
        if (record) found.push({ key, ...record });
      });
      if (keys.length < count) break;
      after = keys.at(-1)!;
    }
    return found;
  }

  async scanPlaces(
    tenantId: string,
    range: { from: string; to: string; after?: { place: string; key: string }; limit: number },
    call: EngineCall,
  ): Promise<PlacedRecord[]> {
    await this.#mirror.caughtUp(call);
    const found: PlacedRecord[] = [];
    let { after } = range;
    while (found.length < range.limit) {
      const count = Math.min(SCAN_STEP, range.limit - found.length);
      const places = this.#mirror.places(tenantId, { ...range, ...(after && { after }) }, count);
      const records = await this.#getMany(
        places.map(({ key }) => ({ space: 'kv', tenantId, key })),
        call,
      );
      places.forEach(({ place, key }, at) => {
        const record = records[at];
        if (record) found.push({ place, key, ...record });
      });
      if (places.length < count) break;
      after = places.at(-1)!;
    }
    return found;
  }

  async now(): Promise<number> {
    return this.#parts.clock();
  }

  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const { link, messages } = this.#parts;
    const queue = new ChangeQueue(signal);
    // Bodies that were spilled take time to read: the changes after them wait.
    let turn = Promise.resolve();
    const follower = new Follower(link, {
      messages,
      filter: tenantFilter(messages.subject, space, tenantId),
      start: 'new',
      headersOnly: false,
      onMessage: (message) => {
        const key = nameOfSubject(messages.subject, message.subject, message.headers[HEADER.name]).name;
        if (!key.startsWith(prefix)) return;
        turn = turn.then(async () => {
          const change = await this.#changeOf(key, message).catch(() => null);
          if (change) queue.push(change);
        });
      },
    });
    signal.addEventListener('abort', () => follower.stop(), { once: true });
    return stopping(queue.changes(), () => follower.stop());
  }

  async #changeOf(key: string, message: StoredMessage): Promise<RecordChange | null> {
    const { end, expiresAt } = readRecordHead(message.headers);
    if (end !== null) return { key, type: end, record: null };
    const body = await this.#bodyOf(message, {});
    // Its parts went with a newer version, which will be reported itself.
    if (!body) return null;
    return { key, type: 'put', record: this.#copy(readRecord(body, message.seq, expiresAt)) };
  }

  async removeExpired(limit: number, call: EngineCall): Promise<number> {
    await this.#mirror.caughtUp(call);
    let removed = 0;
    for (const { name, revision } of this.#mirror.expired(limit)) {
      const ended = await this.#end(name, this.#subjectOf(name), { revision, spilled: true }, 'expire', call);
      if (ended !== null) removed++;
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
      const subject = this.#subjectOf(name);
      this.#seen.delete(subject.text);
      const place = await this.#end(name, subject, { revision, spilled: true }, 'delete', call);
      // One that was written meanwhile is found again. Versions before the mark go at once: they hold what was in it.
      if (place !== null) await messages.purge(subject.text, place, call);
    }
    if (found.length === 0) await removeMarks(messages, tenantFilter(messages.subject, space, tenantId), call);
    return found.map(({ key }) => key);
  }

  /** Removes the marks of records whose keys begin with a prefix, all of which are gone. */
  async clear(space: RecordSpace, tenantId: string, prefix: string, call: EngineCall): Promise<void> {
    await this.#mirror.caughtUp(call);
    const subjects = new Set(this.#mirror.marked(space, tenantId, prefix));
    await removeMarksOf(this.#parts.messages, [...subjects], call);
  }

  /** Removes the marks of records that are long gone. */
  removeMarks(limit: number, call: EngineCall): Promise<number> {
    return this.#mirror.removeMarks(limit, call);
  }

  stop(): void {
    this.#mirror.stop();
  }

  async #get(name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
    const { state } = await this.#find(this.#subjectOf(name), call);
    return this.#isLive(state) ? this.#copy(state) : null;
  }

  async #find(subject: Subject, call: EngineCall): Promise<Found> {
    for (;;) {
      const message = await this.#parts.messages.last(subject.text, call);
      if (!message) return { revision: 0, state: undefined, spilled: false };
      const { end, expiresAt } = readRecordHead(message.headers);
      if (end !== null) return { revision: message.seq, state: undefined, spilled: false };
      const body = await this.#bodyOf(message, call);
      const spilled = message.headers[HEADER.parts] !== undefined;
      if (body) {
        const found = { revision: message.seq, state: readRecord(body, message.seq, expiresAt), spilled };
        this.#remember(subject, found);
        return found;
      }
      // Its parts are gone, so a newer version stands, or is about to.
      if (isOver(call)) throw new TidemarkError('TIMEOUT', 'The record changed faster than it could be read');
    }
  }

  #remember(subject: Subject, found: Found): void {
    if (found.spilled || (found.state && bytesOf(found.state) > LARGE)) this.#seen.delete(subject.text);
    else this.#seen.set(subject.text, found);
  }

  async #bodyOf(message: StoredMessage, call: EngineCall): Promise<Buffer | null> {
    const parts = message.headers[HEADER.parts];
    return parts === undefined ? message.data : this.#parts.spill.read(message.subject, parts, call);
  }

  #isLive(state: RecordState | undefined): state is RecordState {
    return state !== undefined && (state.expiresAt === null || state.expiresAt > this.#parts.clock());
  }

  #copy(state: RecordState): StoredRecord;
  #copy(state: RecordState | undefined): StoredRecord | null;
  #copy(state: RecordState | undefined): StoredRecord | null {
    if (!state) return null;
    const ttlMs = state.expiresAt === null ? null : state.expiresAt - this.#parts.clock();
    // A caller may do as it likes with what it gets; what is remembered must not change with it.
    const fields = new Map(Array.from(state.fields, ([field, value]) => [field, value.slice()]));
    return { fields, revision: state.revision, ttlMs };
  }

  #subjectOf({ space, tenantId, key }: RecordName): Subject {
    return subjectOf(this.#parts.messages.subject, { space, tenantId, name: key }, true);
  }
}

/** Parts that could not be removed are, with the next version; the write they belonged to stands. */
function left(): void {}

function bytesOf({ fields }: RecordState): number {
  let bytes = 0;
  for (const [field, value] of fields) bytes += field.length + value.length;
  return bytes;
}

async function* stopping(changes: AsyncIterable<RecordChange>, stop: () => void): AsyncIterable<RecordChange> {
  try {
    yield* changes;
  } finally {
    stop();
  }
}
