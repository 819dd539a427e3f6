/** Into how many buckets a store is divided: decided when it is first opened, and the same for everybody after. */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import type { Commands } from './commands.ts';
import { tagOf } from './layout.ts';
import type { Settings } from './options.ts';

const DEFAULT_BUCKETS = 16;
/** Of the layout of keys and values; another one is refused. */
const FORMAT = '1';

/** Reads the division, or decides it. */
export async function divisionOf(commands: Commands, { prefix, buckets }: Settings): Promise<number> {
  const key = `${tagOf(prefix, 0)}store`;
  await commands.put(0, ['HSETNX', key, 'format', FORMAT], {});
  await commands.put(0, ['HSETNX', key, 'buckets', String(buckets ?? DEFAULT_BUCKETS)], {});
  const [format, stored] = (await commands.read(0, ['HMGET', key, 'format', 'buckets'], {})) as [Buffer, Buffer];
  if (format.toString() !== FORMAT)
    throw new TidemarkError('SCHEMA_MISMATCH', `The store was written in format ${format}; update @tidemark/redis`);
  if (buckets !== undefined && buckets !== Number(stored))
    throw invalidArgument('buckets', `${stored}, into which this store was divided when it was made`, buckets);
  return Number(stored);
}
