/** Indexes in byte order: sorted sets whose members all have the score 0. */
import { boundsOf, type EngineCall, type KeyBounds, Merge } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';

/** The members between two bounds; `null` means unbounded. */
export interface LexicalRange {
  from: Bound | null;
  to: Bound | null;
  order: 'ascending' | 'descending';
}

export interface Bound {
  member: Buffer;
  included: boolean;
}

/** Returns the range of members with a prefix, after a given one. */
export function prefixRange(prefix: string, after: string | null): LexicalRange {
  return rangeWithin(boundsOf({ prefix, after }));
}

/** Returns the range of members within bounds. */
export function rangeWithin({ low, lowIncluded, high }: KeyBounds, reverse = false): LexicalRange {
  return {
    from: lowIncluded ? included(low) : excluded(low),
    to: high === null ? null : excluded(high),
    order: reverse ? 'descending' : 'ascending',
  };
}

export function excluded(member: string): Bound {
  return { member: Buffer.from(member), included: false };
}

export function included(member: string): Bound {
  return { member: Buffer.from(member), included: true };
}

/** Yields the members of an index that is spread over all buckets, in order. */
export function mergeLexical(
  commands: Commands,
  buckets: number,
  keyOf: (bucket: number) => string,
  range: LexicalRange,
  expected: number,
  call: EngineCall,
): Merge<Buffer> {
  const ascending = range.order === 'ascending';
  return new Merge<Buffer>(
    {
      buckets,
      compare: ascending ? Buffer.compare : (a, b) => Buffer.compare(b, a),
      read: (bucket, after, limit) => readLexical(commands, bucket, keyOf(bucket), goOn(range, after), limit, call),
    },
    expected,
  );
}

function goOn(range: LexicalRange, after: Buffer | null): LexicalRange {
  if (after === null) return range;
  const bound = { member: after, included: false };
  return range.order === 'ascending' ? { ...range, from: bound } : { ...range, to: bound };
}

export async function readLexical(
  commands: Commands,
  bucket: number,
  key: string,
  { from, to, order }: LexicalRange,
  limit: number,
  call: EngineCall,
): Promise<Buffer[]> {
  const [low, high] = [boundArgument(from, '-'), boundArgument(to, '+')];
  const range = order === 'ascending' ? ['ZRANGEBYLEX', key, low, high] : ['ZREVRANGEBYLEX', key, high, low];
  return (await commands.read(bucket, [...range, 'LIMIT', '0', String(limit)], call)) as Buffer[];
}

function boundArgument(bound: Bound | null, none: string): string | Buffer {
  return bound === null ? none : Buffer.concat([Buffer.from(bound.included ? '[' : '('), bound.member]);
}

/** Returns the first distinct members after a given one, of an index that is spread over all buckets. */
export async function distinctLexical(
  commands: Commands,
  buckets: number,
  keyOf: (bucket: number) => string,
  after: string | null,
  limit: number,
  call: EngineCall,
): Promise<string[]> {
  const merge = mergeLexical(commands, buckets, keyOf, prefixRange('', after), limit, call);
  const found = new Set<string>();
  while (found.size < limit) {
    const members = await merge.take(limit);
    for (const member of members) if (found.size < limit) found.add(member.toString());
    if (members.length < limit) break;
  }
  return [...found];
}
