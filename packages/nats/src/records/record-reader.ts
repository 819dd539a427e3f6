/** Reads record subjects from the server, or from a cache if they have not changed since. */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import {
  corruptValue,
  type EngineCall,
  LruMap,
  type RecordName,
  type RecordState,
  type ScannedRecord,
  type StoredRecord,
} from '@tidemark/core/engine';
import { isOver } from '../connection/link.ts';
import { HEADER } from '../messages/headers.ts';
import { isIntact } from '../messages/message-sums.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import type { Spill } from '../messages/spill.ts';
import { type Subject, subjectOf } from '../streams/subjects.ts';
import { type HeldRequests, NO_REQUESTS, readBody, readRecordHead } from './record-messages.ts';
import type { RecordMirror } from './record-mirror.ts';

/** The current content of a subject. */
export interface Found {
  /** Sequence of the last message of the subject, of any kind; 0 when there is none. */
  revision: number;
  /** The record, expired or not. */
  state: RecordState | undefined;
  requests: HeldRequests;
  spilled: boolean;
  /** Set when the message does not match its checksum. `state` then has no fields. */
  damaged?: true;
}

/** A record as a scan returns it. */
export type ReadRecord = StoredRecord & Pick<ScannedRecord, 'damaged' | 'unsummed'>;

/** For this many records or more, it is cheaper to ask the mirror which of them have changed. */
const MANY = 4;
const MAX_SEEN_BYTES = 16 * 1024 * 1024;
/** Approximate size of an entry besides its values. */
const ENTRY_BYTES = 500;
/** Larger records are not cached. */
const LARGE = 64 * 1024;

export interface ReaderParts {
  messages: Messages;
  spill: Spill;
  mirror: RecordMirror;
  clock: () => number;
}

export class RecordReader {
  readonly #parts: ReaderParts;
  /** Cache of the records that were read or written last, so that a write to one of them needs no read. */
  readonly #seen = new LruMap<string, Found>(MAX_SEEN_BYTES, weigh);

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  async get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    const { mirror } = this.#parts;
    if (names.length < MANY || !mirror.started) return Promise.all(names.map((name) => this.#getOne(name, call)));
    await mirror.caughtUp(call);
    return this.getKnown(names, call);
  }

  /** Reads records through the mirror. Only records whose cached revision is outdated are read from the server. */
  getKnown(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    return Promise.all(names.map((name) => this.#getKnown(name, call)));
  }

  /** Like `getKnown`, but damaged records are marked instead of refused. */
  getMarked(names: readonly RecordName[], call: EngineCall): Promise<(ReadRecord | null)[]> {
    return Promise.all(
      names.map(async (name): Promise<ReadRecord | null> => {
        try {
          return await this.#getKnown(name, call);
        } catch (error) {
          if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
          return { fields: new Map(), revision: this.#parts.mirror.revisionOf(name), ttlMs: null, damaged: true };
        }
      }),
    );
  }

  async #getKnown(name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
    const revision = this.#parts.mirror.revisionOf(name);
    if (revision === 0) return null;
    const seen = this.seen(this.subjectOf(name));
    if (seen?.revision !== revision) return this.#getOne(name, call);
    return this.copy(this.live(seen));
  }

  async find(subject: Subject, call: EngineCall): Promise<Found> {
    for (;;) {
      const message = await this.#parts.messages.last(subject.text, call);
      if (!message) return { revision: 0, state: undefined, requests: NO_REQUESTS, spilled: false };
      const found = await this.#contentOf(message, call);
      if (found) {
        if (found.state && !found.damaged) this.remember(subject, found);
        return found;
      }
      // The parts of the body are gone, so a newer version has been stored or is about to be stored.
      if (isOver(call)) throw new TidemarkError('TIMEOUT', 'The record changed faster than it could be read');
    }
  }

  /** Decodes the record in a message; `null` when its parts were removed with a newer version. */
  async stateOf(message: StoredMessage, call: EngineCall): Promise<RecordState | null> {
    const found = await this.#contentOf(message, call);
    return found && !found.damaged ? (found.state ?? null) : null;
  }

  async #contentOf(message: StoredMessage, call: EngineCall): Promise<Found | null> {
    const { seq: revision, headers } = message;
    const { end, expiresAt } = readRecordHead(headers);
    const parts = headers[HEADER.parts];
    const body = parts === undefined ? message.data : await this.#parts.spill.read(message.subject, parts, call);
    if (!body) return null;
    const spilled = parts !== undefined;
    if (!isIntact(message.subject, headers, body)) {
      const state = { fields: new Map<string, Uint8Array>(), revision, expiresAt };
      return { revision, state, requests: NO_REQUESTS, spilled, damaged: true };
    }
    const { fields, requests } = readBody(body);
    const state = end === null ? { fields, revision, expiresAt } : undefined;
    return { revision, state, requests, spilled };
  }

  seen(subject: Subject): Found | undefined {
    return this.#seen.get(subject.text);
  }

  remember(subject: Subject, found: Found): void {
    if (found.spilled || (found.state && bytesOf(found.state) > LARGE)) this.forget(subject);
    else this.#seen.set(subject.text, found);
  }

  forget(subject: Subject): void {
    this.#seen.delete(subject.text);
  }

  /** Returns the record unless it has expired. */
  live({ state }: Found): RecordState | undefined {
    return state && (state.expiresAt === null || state.expiresAt > this.#parts.clock()) ? state : undefined;
  }

  /** Copies the record, so that callers can modify it without changing the cache. */
  copy(state: RecordState): StoredRecord;
  copy(state: RecordState | undefined): StoredRecord | null;
  copy(state: RecordState | undefined): StoredRecord | null {
    if (!state) return null;
    const ttlMs = state.expiresAt === null ? null : state.expiresAt - this.#parts.clock();
    const fields = new Map(Array.from(state.fields, ([field, value]) => [field, value.slice()]));
    return { fields, revision: state.revision, ttlMs };
  }

  subjectOf({ space, tenantId, key }: RecordName): Subject {
    return subjectOf(this.#parts.messages.subject, { space, tenantId, name: key }, true);
  }

  async #getOne(name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
    const found = await this.find(this.subjectOf(name), call);
    if (found.damaged) throw corruptValue('record', name.key);
    return this.copy(this.live(found));
  }
}

function weigh({ state, requests }: Found): number {
  const ids = requests.ids.reduce((bytes, id) => bytes + id.length, 0);
  return ENTRY_BYTES + ids + (state ? bytesOf(state) : 0);
}

function bytesOf({ fields }: RecordState): number {
  let bytes = 0;
  for (const [field, value] of fields) bytes += field.length + value.length;
  return bytes;
}
