/** Dead letters: events that a subscription gave up on, kept in KV until they are redelivered or discarded. */
import { createHash } from 'node:crypto';
import { numberOf, type RunEventRecord, type Store, textOf } from '@tidemark/core';

/** An event that a subscription gave up on, and the reason. */
export interface DeadLetter {
  tenantId: string;
  runId: string;
  runSeq: number;
  eventId: string;
  eventType: string;
  attempts: number;
  error: string;
  /** RFC 3339. */
  at: string;
}

/** Identifies the event of a dead letter. */
export type DeadLetterKey = Pick<DeadLetter, 'tenantId' | 'runId' | 'runSeq'>;

const MAX_ERROR = 4_000;
const MAX_COUNTED = 10_000;

export class DeadLetters {
  readonly #kv: Store['kv'];
  readonly #prefix: string;

  constructor(store: Store, subscription: string) {
    this.#kv = store.kv;
    this.#prefix = `${subscription}.dead.`;
  }

  async add(event: RunEventRecord, attempts: number, error: unknown): Promise<void> {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    await this.#kv.put(this.#key(event), {
      tenant_id: event.tenantId,
      run_id: event.runId,
      run_seq: event.runSeq,
      event_id: event.eventId,
      event_type: event.eventType,
      attempts,
      error: text.slice(0, MAX_ERROR).toWellFormed(),
      at: new Date().toISOString(),
    });
  }

  async *list(): AsyncIterable<DeadLetter> {
    for await (const { record } of this.#kv.scan(this.#prefix)) {
      const text = (field: string) => textOf(record.fields[field]) ?? '';
      yield {
        tenantId: text('tenant_id'),
        runId: text('run_id'),
        runSeq: numberOf(record.fields.run_seq) ?? 0,
        eventId: text('event_id'),
        eventType: text('event_type'),
        attempts: numberOf(record.fields.attempts) ?? 0,
        error: text('error'),
        at: text('at'),
      };
    }
  }

  async remove(letter: DeadLetterKey): Promise<boolean> {
    return this.#kv.delete(this.#key(letter));
  }

  /** The key is a hash, because the ids together may be longer than a key may be. */
  #key({ tenantId, runId, runSeq }: DeadLetterKey): string {
    return this.#prefix + createHash('sha256').update(`${tenantId}\0${runId}\0${runSeq}`).digest('hex');
  }
}

/** Counts the dead letters of all subscriptions, up to 10 000. */
export async function countDeadLetters(store: Store): Promise<number> {
  let count = 0;
  for await (const { key } of store.kv.scan('tidemark.subscriptions.')) {
    if (key.includes('.dead.')) count++;
    if (count === MAX_COUNTED) break;
  }
  return count;
}
