/**
 * How far each shard of a name has come in the feed. A cursor belongs to whoever holds the shard: taking a shard writes a
 * token into its cursor, and a holder that lost the shard finds another's there and changes nothing.
 */
import { type KvStore, TidemarkError, textOf } from '@tidemark/core';

export class Cursors {
  readonly #kv: KvStore;
  readonly #prefix: string;

  constructor(kv: KvStore, prefix: string) {
    this.#kv = kv;
    this.#prefix = prefix;
  }

  /** Fixes the number of shards when the name is first used: events would change hands with it. */
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

  /** Takes a shard over: its cursor, `null` when it was never moved, and the runs that it waits for. */
  async take(shard: number, token: string): Promise<{ cursor: string | null; held: string | null }> {
    for (;;) {
      const stored = await this.#kv.get(this.#key(shard));
      const cursor = textOf(stored?.fields.cursor);
      const { swapped } = await this.#kv.swap(this.#key(shard), {
        expectedRevision: stored?.revision ?? 0,
        set: { holder: token },
        requestId: token,
      });
      if (!swapped) continue;
      const start = async () => textOf((await this.#kv.get(`${this.#prefix}.settings`))?.fields.start_after);
      return { cursor: cursor ?? (await start()), held: textOf(stored?.fields.held) };
    }
  }

  /** Moves a cursor that is still ours, and in the same step the runs the shard waits for; false when it is not ours. */
  async move(shard: number, token: string, cursor: string, held: string): Promise<boolean> {
    const set = { cursor, held: held === '' ? null : held };
    const { swapped } = await this.#kv.swap(this.#key(shard), { expected: { holder: token }, set });
    return swapped;
  }

  #key(shard: number): string {
    return `${this.#prefix}.cursor.${shard}`;
  }
}
