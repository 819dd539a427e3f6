/** The format of a store: fixed when it is first opened. */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import type { Commands } from './commands.ts';
import { tagOf } from './layout.ts';
import type { Settings } from './options.ts';

export const DEFAULT_BUCKETS = 16;
/** Formats of keys and values; others are refused. From the second on, records carry checksums. */
const [WITHOUT_SUMS, NEWEST] = ['1', '2'];

export interface StoreFormat {
  /** The number of buckets. */
  buckets: number;
  /** Whether records carry checksums, which versions that know only the first format would read as fields. */
  sums: boolean;
}

/**
 * Reads the format, or decides it for a new store. With `upgrade`, an older store gets the newest format, which older
 * versions refuse.
 */
export async function readFormat(commands: Commands, { prefix, buckets, upgrade }: Settings): Promise<StoreFormat> {
  const key = `${tagOf(prefix, 0)}store`;
  await commands.put(0, ['HSETNX', key, 'format', NEWEST], {});
  await commands.put(0, ['HSETNX', key, 'buckets', String(buckets ?? DEFAULT_BUCKETS)], {});
  const [stored, divided] = (await commands.read(0, ['HMGET', key, 'format', 'buckets'], {})) as [Buffer, Buffer];
  const format = stored.toString();
  if (format !== WITHOUT_SUMS && format !== NEWEST)
    throw new TidemarkError('SCHEMA_MISMATCH', `The store was written in format ${format}; update @tidemark/redis`);
  if (buckets !== undefined && buckets !== Number(divided))
    throw invalidArgument('buckets', `${divided}, into which this store was divided when it was made`, buckets);
  if (format !== NEWEST && upgrade) await commands.put(0, ['HSET', key, 'format', NEWEST], {});
  return { buckets: Number(divided), sums: format === NEWEST || upgrade };
}
