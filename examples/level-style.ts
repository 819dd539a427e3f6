/**
 * An ordered key-value interface in the style of Level over `kv`: get, put, del, clear, and iterators with bounds.
 * Iterators over keys read no values, and reverse iterators do not collect anything first.
 */
import { type KvStore, open, textOf } from 'tidemark';

/** The keys of an iterator. */
export interface Range {
  gt?: string;
  gte?: string;
  lt?: string;
  lte?: string;
  reverse?: boolean;
  limit?: number;
}

/** Returns the lowest key above another. Keys contain no NUL, so there is nothing in between. */
const above = (key: string) => `${key}\u0001`;

export function levelStyle(kv: KvStore, prefix: string) {
  /** Converts Level's bounds to whole keys: `from` is inclusive and `to` is exclusive. */
  function boundsOf({ gt, gte, lt, lte }: Range) {
    const from = gt !== undefined ? above(prefix + gt) : gte !== undefined ? prefix + gte : undefined;
    const to = lt !== undefined ? prefix + lt : lte !== undefined ? above(prefix + lte) : undefined;
    return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  }
  const options = ({ reverse = false, ...range }: Range) => ({ ...boundsOf(range), reverse });
  const filter = ({ limit }: Range) => (limit === undefined ? undefined : { maxResults: limit });

  return {
    get: async (key: string) => textOf(await kv.getField(prefix + key, 'value')) ?? undefined,
    put: async (key: string, value: string) => void (await kv.put(prefix + key, { value })),
    del: async (key: string) => void (await kv.delete(prefix + key)),

    async *keys(range: Range = {}): AsyncGenerator<string> {
      for await (const { key } of kv.scan(prefix, filter(range), { ...options(range), keysOnly: true }))
        yield key.slice(prefix.length);
    },

    async *iterator(range: Range = {}): AsyncGenerator<[key: string, value: string]> {
      for await (const { key, record } of kv.scan(prefix, filter(range), options(range)))
        yield [key.slice(prefix.length), textOf(record.fields.value)!];
    },

    async clear(range: Range = {}): Promise<void> {
      let cursor: string | undefined;
      do cursor = (await kv.deletePrefix(prefix, { ...boundsOf(range), cursor })).next;
      while (cursor !== undefined);
    },
  };
}

if (process.argv[1] === import.meta.filename) {
  const store = await open(process.argv[2] ?? 'memory:');
  const db = levelStyle(store.kv, 'fruit.');
  for (const name of ['apple', 'banana', 'cherry', 'date']) await db.put(name, name.toUpperCase());
  console.log(await Array.fromAsync(db.keys({ gt: 'apple', lte: 'cherry' })));
  console.log(await Array.fromAsync(db.iterator({ reverse: true, limit: 2 })));
  await db.clear({ gte: 'b', lt: 'd' });
  console.log(await Array.fromAsync(db.keys()), await db.get('date'), await db.get('banana'));
  await store.close();
}
