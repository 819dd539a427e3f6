/** Checks ranges of keys. */
import type { KvKeyRange } from '../contracts/kv.ts';
import { checkId } from './text.ts';

/** Returns the bounds that are set. Throws `INVALID_ARGUMENT` unless each is a whole key. */
export function checkKeyRange({ from, to }: KvKeyRange): KvKeyRange {
  const range: KvKeyRange = {};
  if (from !== undefined) range.from = checkId(from, 'from');
  if (to !== undefined) range.to = checkId(to, 'to');
  return range;
}
