/**
 * The versions of operations. A version is an integer: the base of the subscription plus the epoch of the shard, then
 * the number of the operation. A later holder of a shard always has higher versions than an earlier one.
 */
import { type KvStore, numberOf } from '@tidemark/core';
import type { SqlApi } from './sql-api.ts';
import { highestVersion } from './statements.ts';

/** The version of an event that was given up on and is loaded again. It never replaces anything. */
export const OLDEST_VERSION = 0;
/** Operations per epoch. */
const OPERATIONS = 2 ** 26;

export class Versions {
  readonly #base: number;
  /** The epoch and the last operation of each shard. */
  readonly #operations = new Map<number, { epoch: number; count: number }>();

  constructor(base: number) {
    this.#base = base;
  }

  next({ shard, epoch }: { shard: number; epoch: number }): number {
    const last = this.#operations.get(shard);
    const count = last?.epoch === epoch ? last.count + 1 : 1;
    this.#operations.set(shard, { epoch, count });
    if (count >= OPERATIONS) throw new Error('A shard was held for more operations than a version can count');
    return (this.#base + epoch) * OPERATIONS + count;
  }
}

/**
 * Returns the versions of a subscription. Its base is chosen when its name is first used. The base is above all
 * versions in the tables, because a subscription with another name may have filled them.
 */
export async function settledVersions(kv: KvStore, name: string, api: SqlApi, schemaName: string): Promise<Versions> {
  const key = `tidemark.snowflake.${name}`;
  const stored = numberOf((await kv.get(key))?.fields.base);
  if (stored !== null) return new Versions(stored);
  const { rows } = await api.run(highestVersion(schemaName));
  const base = Math.ceil(Number(rows[0]?.[0] ?? 0) / OPERATIONS);
  const { record } = await kv.swap(key, { expectedRevision: 0, set: { base } });
  return new Versions(numberOf(record?.fields.base) ?? base);
}
