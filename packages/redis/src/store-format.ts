/** The format of a store, which is fixed when the store is first opened. */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import { tagOf } from './layout.ts';
import type { Settings } from './options.ts';

export const DEFAULT_BUCKETS = 16;
/**
 * The supported formats of a store; all others are refused. From format 2 on, records have checksums and runs use chain
 * format 2.
 */
const [FIRST, NEWEST] = ['1', '2'];

export interface StoreFormat {
  /** The number of buckets. */
  buckets: number;
  /** Whether records have checksums. Versions that know only format 1 would read the checksums as ordinary fields. */
  sums: boolean;
  /** The newest chain format that writers may use. */
  chain: ChainFormat;
}

/**
 * Reads the format, or chooses it for a new store. With `upgrade`, a store of an older format gets the newest format.
 * Older versions then refuse to open it.
 */
export async function readFormat(commands: Commands, { prefix, buckets, upgrade }: Settings): Promise<StoreFormat> {
  const key = `${tagOf(prefix, 0)}store`;
  await commands.put(0, ['HSETNX', key, 'format', NEWEST], {});
  await commands.put(0, ['HSETNX', key, 'buckets', String(buckets ?? DEFAULT_BUCKETS)], {});
  const [stored, divided] = (await commands.read(0, ['HMGET', key, 'format', 'buckets'], {})) as [Buffer, Buffer];
  const format = stored.toString();
  if (format !== FIRST && format !== NEWEST)
    throw new TidemarkError('SCHEMA_MISMATCH', `The store was written in format ${format}; update @tidemark/redis`);
  if (buckets !== undefined && buckets !== Number(divided))
    throw invalidArgument('buckets', `${divided}, into which this store was divided when it was made`, buckets);
  if (format !== NEWEST && upgrade) await commands.put(0, ['HSET', key, 'format', NEWEST], {});
  const isNewest = format === NEWEST || upgrade;
  return { buckets: Number(divided), sums: isNewest, chain: isNewest ? NEWEST_CHAIN_FORMAT : 1 };
}

/**
 * Returns the newest chain format that writers may use. It is read again, because another process may have upgraded the
 * store.
 */
export async function readChainFormat(commands: Commands, { prefix }: Settings): Promise<ChainFormat> {
  const stored = (await commands.read(0, ['HGET', `${tagOf(prefix, 0)}store`, 'format'], {})) as Buffer | null;
  return stored?.toString() === NEWEST ? NEWEST_CHAIN_FORMAT : 1;
}
