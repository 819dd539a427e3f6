/**
 * The feed cursor of each shard. A cursor belongs to the holder of its shard. Taking a shard writes the holder's token
 * into the cursor, so that a previous holder can no longer move it.
 */
import { type KvStore, numberOf, TidemarkError, textOf } from '@tidemark/core';

export class Cursors {
  readonly #kv: KvStore;
  readonly #prefix: string;

  constructor(kv: KvStore, prefix: string) {
    this.#kv = kv;
    this.#prefix = prefix;
  }

  /**
   * Stores the number of shards at first use, because changing it would move runs between shards.
   * @throws `INVALID_ARGUMENT` if the name was started with another number.
   */
  async settle(shards: number, startAfter: string | undefined): Promise<void> {
    const key = `${this.#prefix}.settings`;
    const { record } = await this.#kv.swap(key, {
      expectedRevision: 0,
      set: { shards, ...(startAfter === undefined ? {} : { start_after: startAfter }) },
    });
    const stored = Number(textOf(record?.fields.shards));
    if (stored === shards) return;
    throw new TidemarkError('INVALID_ARGUMENT', `${this.#prefix} was started with ${stored} shards and keeps them`, {
      field: 'shards',
      rule: `${stored}, as when it was first started`,
    });
  }

  /**
   * Takes over a shard. Returns the shard's cursor, or `null` if the cursor never moved, the runs that the shard waits
   * for, and the epoch: the number of times that the shard was taken.
   */
  async take(shard: number, token: string): Promise<{ cursor: string | null; held: string | null; epoch: number }> {
    for (;;) {
      const stored = await this.#kv.get(this.#key(shard));
      const cursor = textOf(stored?.fields.cursor);
      const epoch = (numberOf(stored?.fields.epoch) ?? 0) + 1;
      const { swapped } = await this.#kv.swap(this.#key(shard), {
        expectedRevision: stored?.revision ?? 0,
        set: { holder: token, epoch },
        requestId: token,
      });
      if (!swapped) continue;
      const start = async () => textOf((await this.#kv.get(`${this.#prefix}.settings`))?.fields.start_after);
      return { cursor: cursor ?? (await start()), held: textOf(stored?.fields.held), epoch };
    }
  }

  /**
   * Moves a cursor and updates the runs that the shard waits for, in one step. Returns false if another process holds
   * the cursor.
   */
  async move(shard: number, token: string, cursor: string, held: string): Promise<boolean> {
    const set = { cursor, held: held === '' ? null : held };
    const { swapped } = await this.#kv.swap(this.#key(shard), { expected: { holder: token }, set });
    return swapped;
  }

  #key(shard: number): string {
    return `${this.#prefix}.cursor.${shard}`;
  }
}
