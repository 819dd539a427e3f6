/**
 * Bodies that are too large for one message. Their parts are published first, under the hash of the subject they belong
 * to, and the message names them. Parts of older versions are removed once a newer one is stored. A writer that lost
 * finds its own parts removed and begins again.
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

  /** Returns the body, or `null` when it was removed with its version. */
  async read(subject: string, spilled: Spilled, call: EngineCall): Promise<Buffer | null> {
    const [id, count] = spilled.split(' ');
    const parts = await Promise.all(
      Array.from({ length: Number(count) }, (_, at) => this.#messages.last(this.#subject(subject, id!, at), call)),
    );
    return parts.includes(null) ? null : Buffer.concat(parts.map((part) => part!.data));
  }

  /** Removes the parts of versions before the current one. */
  async removeBefore(subject: string, current: Spilled, call: EngineCall): Promise<void> {
    await this.#messages.purge(this.#filter(subject), Number(current.split(' ')[2]), call);
  }

  /** Returns the last sequence of parts now. A removal up to it affects no parts that are written later. */
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
