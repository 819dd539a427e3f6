/**
 * Bodies that are too large for one message. The parts of a body are published first, under the hash of the subject
 * that they belong to, and the message refers to them. Once a newer version is stored, the parts of older versions are
 * removed. If another writer is faster, a writer finds its own parts removed and starts again.
 */
import type { EngineCall } from '@tidemark/core/engine';
import { sha256Hex } from '@tidemark/core/engine';
import type { Messages } from './messages.ts';
import type { Writer } from './writer.ts';

/** Size of one part in bytes. */
const PART = 512 * 1024;

/** The reference that a message holds to a spilled body: `id count firstSequence`. */
export type Spilled = string;

export class Spill {
  readonly #messages: Messages;
  readonly #writer: Writer;
  readonly #random: (length: number) => Uint8Array;

  constructor(messages: Messages, writer: Writer, random: (length: number) => Uint8Array) {
    this.#messages = messages;
    this.#writer = writer;
    this.#random = random;
  }

  async write(subject: string, body: Buffer, call: EngineCall): Promise<Spilled> {
    const id = Buffer.from(this.#random(12)).toString('hex');
    let first = 0;
    let count = 0;
    for (let start = 0; start < body.length; start += PART, count++) {
      const part = body.subarray(start, start + PART);
      const seq = await this.#writer.publish(
        { subject: this.#subject(subject, id, count), headers: {}, body: part },
        call,
      );
      first ||= seq!;
    }
    return `${id} ${count} ${first}`;
  }

  /** Returns the body, or `null` when its parts were removed with the version that referred to them. */
  async read(subject: string, spilled: Spilled, call: EngineCall): Promise<Buffer | null> {
    const [id, count] = spilled.split(' ');
    const parts = await Promise.all(
      Array.from({ length: Number(count) }, (_, at) => this.#messages.last(this.#subject(subject, id!, at), call)),
    );
    return parts.includes(null) ? null : Buffer.concat(parts.map((part) => part!.data));
  }

  /** Removes the parts of versions older than the current one. */
  async removeBefore(subject: string, current: Spilled, call: EngineCall): Promise<void> {
    await this.#messages.purge(this.#filter(subject), Number(current.split(' ')[2]), call);
  }

  /**
   * Returns the current last sequence of the parts. Removing parts up to this sequence does not affect parts that are
   * written later.
   */
  writtenUpTo(call: EngineCall): Promise<number> {
    return this.#messages.lastSeq(call);
  }

  async removeUpTo(subject: string, seq: number, call: EngineCall): Promise<void> {
    await this.#messages.purge(this.#filter(subject), seq + 1, call);
  }

  #filter(subject: string): string {
    return `${this.#messages.subject}.parts.${sha256Hex(subject)}.>`;
  }

  #subject(subject: string, id: string, part: number): string {
    return `${this.#messages.subject}.parts.${sha256Hex(subject)}.${id}.${part}`;
  }
}
