/**
 * Records the last sequence of each stream outside of that stream. If a server starts with a damaged block, it drops
 * all messages from that block on and continues from the sequence of the last remaining message. This leaves no gap, so
 * the loss would otherwise go unnoticed.
 */
import { isTidemarkError } from '@tidemark/core';
import type { EngineCall, RecordName, RecordSpace } from '@tidemark/core/engine';
import { HEADER } from '../messages/headers.ts';
import type { Messages } from '../messages/messages.ts';
import type { LastWrite, Writer } from '../messages/writer.ts';
import type { NatsRecords } from '../records.ts';

/** Request ids are not included, because losing them is acceptable and they are removed after minutes. */
export type KeptKind = 'runs' | 'journals' | 'bytes' | 'records';

export interface StreamPart {
  messages: Messages;
  writer: Writer;
}

/** A stream that lost its last messages. */
export interface LostEnd {
  stream: string;
  /** The recorded last sequence, and the actual last sequence when the loss was detected. */
  keptSeq: number;
  lastSeq: number;
}

/** The recorded end of a stream. */
interface KeptEnd extends LastWrite {
  /** The last sequence of the stream when the loss of this end was detected; `null` otherwise. */
  lostAt: number | null;
}

/** The storage of a stream's recorded end. `version` is needed to replace the record; `null` replaces a damaged one. */
interface Keeper {
  read(call: EngineCall): Promise<{ end: KeptEnd | null; version: number | null }>;
  /** Returns whether the record was replaced. False if another process was faster. */
  replace(end: KeptEnd, version: number | null, call: EngineCall): Promise<boolean>;
}

const KINDS: readonly KeptKind[] = ['runs', 'journals', 'bytes', 'records'];
/** Records in a separate space of a single tenant, like the records of blobs. */
const SPACE = 'ends' as RecordSpace;
const EVERYBODY = 'all';
/** After this many messages that record the end of the records stream, older ones are removed. */
const PURGE_EVERY = 64;

export class StreamEnds {
  readonly #parts: Readonly<Record<KeptKind, StreamPart>>;
  readonly #keepers: Readonly<Record<KeptKind, Keeper>>;
  /** The last sequence that this process has recorded for each stream. */
  readonly #kept = new Map<KeptKind, number>();

  constructor(records: NatsRecords, parts: Readonly<Record<KeptKind, StreamPart>>) {
    this.#parts = parts;
    this.#keepers = {
      runs: inRecord(records, 'runs'),
      journals: inRecord(records, 'journals'),
      bytes: inRecord(records, 'bytes'),
      // No stream stores its own end, because a loss would remove both.
      records: inMessage(parts.bytes),
    };
  }

  /** Records the ends of the streams that this process has written to since the last call. */
  async keep(call: EngineCall): Promise<void> {
    for (const kind of ['runs', 'journals', 'bytes'] as const) await this.#keep(kind, call);
    // Done last, because the steps above write records.
    const bytesBefore = this.#parts.bytes.writer.last?.seq ?? 0;
    await this.#keep('records', call);
    // The message that was just written does not count as a new end of its stream.
    const bytesAfter = this.#parts.bytes.writer.last?.seq ?? 0;
    if (this.#kept.get('bytes') === bytesBefore && bytesAfter === bytesBefore + 1) this.#kept.set('bytes', bytesAfter);
  }

  /**
   * Detects streams that have lost messages. Called when a store is opened, because later writes reuse the lost
   * sequences.
   */
  async check(call: EngineCall): Promise<void> {
    await Promise.all(KINDS.map((kind) => this.#renew(kind, null, call)));
  }

  async #keep(kind: KeptKind, call: EngineCall): Promise<void> {
    const end = this.#parts[kind].writer.last;
    if (end === null || end.seq === this.#kept.get(kind)) return;
    await this.#renew(kind, end, call);
    this.#kept.set(kind, end.seq);
  }

  /**
   * Records a later end, or records that the recorded end was lost. A lost end stays recorded until someone removes it.
   */
  async #renew(kind: KeptKind, end: LastWrite | null, call: EngineCall): Promise<void> {
    const keeper = this.#keepers[kind];
    for (;;) {
      const { end: kept, version } = await keeper.read(call);
      if (kept !== null && kept.lostAt !== null) return;
      const lost = kept && (await this.#lostOf(kind, kept, call));
      const isLater = end !== null && end.seq > (kept?.seq ?? 0);
      if (!lost && !isLater) return;
      const next = lost ? { ...kept!, lostAt: lost.lastSeq } : { ...end!, lostAt: null };
      if (await keeper.replace(next, version, call)) return;
    }
  }

  /** Returns the streams that lost their last messages. */
  async lost(call: EngineCall): Promise<LostEnd[]> {
    const found = await Promise.all(
      KINDS.map(async (kind) => {
        const { end } = await this.#keepers[kind].read(call);
        return end && this.#lostOf(kind, end, call);
      }),
    );
    return found.filter((lost) => lost !== null);
  }

  /**
   * Compares a recorded end with the stream. A missing message alone does not prove a loss, because it may have been
   * removed or replaced.
   */
  async #lostOf(kind: KeptKind, { seq, write, lostAt }: KeptEnd, call: EngineCall): Promise<LostEnd | null> {
    const { messages } = this.#parts[kind];
    if (lostAt !== null) return { stream: messages.stream, keptSeq: seq, lastSeq: lostAt };
    const lastSeq = await messages.lastSeq(call);
    const lost = { stream: messages.stream, keptSeq: seq, lastSeq };
    if (lastSeq < seq) return lost;
    const message = await messages.at(seq, call);
    return message === null || message.headers[HEADER.write] === write ? null : lost;
  }
}

function inRecord(records: NatsRecords, kind: KeptKind): Keeper {
  const name: RecordName = { space: SPACE, tenantId: EVERYBODY, key: kind };
  return {
    async read(call) {
      try {
        const [record] = await records.get([name], call);
        const bytes = record?.fields.get('end');
        return { end: bytes ? parseEnd(Buffer.from(bytes)) : null, version: record?.revision ?? 0 };
      } catch (error) {
        if (isTidemarkError(error, 'CORRUPT_VALUE')) return { end: null, version: null };
        throw error;
      }
    },
    async replace(end, revision, call) {
      const set = new Map([['end', Buffer.from(formatEnd(end))]]);
      const expect = revision === null ? undefined : { revision };
      return (await records.write({ name, mode: 'replace', set, expect }, call)).applied;
    },
  };
}

function inMessage({ messages, writer }: StreamPart): Keeper {
  const subject = `${messages.subject}.${SPACE}.records`;
  let written = 0;
  return {
    async read(call) {
      const message = await messages.last(subject, call);
      return { end: message && parseEnd(message.data), version: message?.seq ?? 0 };
    },
    async replace(end, version, call) {
      const expected = version ?? 0;
      const seq = await writer.publish({ subject, expected, headers: {}, body: formatEnd(end) }, call);
      if (seq === null) return false;
      // Keeps the previous message, because the new message may be lost.
      if (written++ % PURGE_EVERY === 0) await messages.purge(subject, expected, call);
      return true;
    },
  };
}

function formatEnd({ seq, write, lostAt }: KeptEnd): string {
  return lostAt === null ? `${seq} ${write}` : `${seq} ${write} ${lostAt}`;
}

/** Parses a recorded end. Returns `null` for damaged text, which proves nothing about the stream. */
function parseEnd(bytes: Buffer): KeptEnd | null {
  const [, seq, write, lostAt] = /^(\d+) (\S+)(?: (\d+))?$/.exec(bytes.toString()) ?? [];
  if (seq === undefined || write === undefined) return null;
  return { seq: Number(seq), write, lostAt: lostAt === undefined ? null : Number(lostAt) };
}
