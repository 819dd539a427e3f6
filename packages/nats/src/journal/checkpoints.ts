/**
 * Checkpoints of long journals: the hashes of some thousand keys and the positions of their commits in one message, so
 * that a new writer need not read the whole journal. Checkpoints only save time. Without them, writers read the
 * journal.
 */
import { type EngineCall, sha256Hex } from '@tidemark/core/engine';
import type { Messages } from '../messages/messages.ts';
import type { Writer } from '../messages/writer.ts';
import { HASH_BYTES, type KeyHash } from './commits.ts';

/** A range of a journal that begins and ends with whole commits. */
export interface Checkpoint {
  /** First sequence and stream sequence of each commit. */
  commits: [firstSeq: number, place: number][];
  /** Hashes of the keys, in order. */
  hashes: KeyHash[];
}

/** Number of events between two checkpoints. */
export const CHECKPOINT_EVERY = 4_096;

export class Checkpoints {
  readonly #messages: Messages;
  readonly #writer: Writer;

  constructor(messages: Messages, writer: Writer) {
    this.#messages = messages;
    this.#writer = writer;
  }

  /**
   * Writes a checkpoint for a journal whose first commit is at `origin`. If several processes write the same range, the
   * first one is used.
   */
  async write(subject: string, origin: number, { commits, hashes }: Checkpoint, call: EngineCall): Promise<void> {
    const body = Buffer.concat([Buffer.from(`${JSON.stringify(commits)}\n`), Buffer.from(hashes.join(''), 'latin1')]);
    if (body.length > this.#writer.largestBody) return;
    const checkpoint = `${this.#subjectOf(subject)}.${origin}.${commits[0]![0]}`;
    await this.#writer.publish({ subject: checkpoint, expected: 0, headers: {}, body }, call);
  }

  /** Yields the checkpoints of a journal, from the oldest to the newest. */
  async *read(subject: string, origin: number, call: EngineCall): AsyncGenerator<Checkpoint, void, undefined> {
    const filter = `${this.#subjectOf(subject)}.${origin}.*`;
    for (let from = 1; ; ) {
      const message = await this.#messages.next(filter, from, call);
      if (!message) return;
      const end = message.data.indexOf(10);
      const text = message.data.toString('latin1', end + 1);
      yield {
        commits: JSON.parse(message.data.toString('latin1', 0, end)) as Checkpoint['commits'],
        hashes: Array.from({ length: text.length / HASH_BYTES }, (_, at) =>
          text.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
        ),
      };
      from = message.seq + 1;
    }
  }

  async remove(subject: string, call: EngineCall): Promise<void> {
    await this.#messages.purge(`${this.#subjectOf(subject)}.>`, undefined, call);
  }

  #subjectOf(subject: string): string {
    return `${this.#messages.subject}.checkpoints.${sha256Hex(subject)}`;
  }
}
