/** Broken ranges: faults in bounds, direction, key-only scans, page sizes, counts and deletes. */
import type { KvEntry, KvScanOptions, KvScanPageOptions, Page } from '@tidemark/core';
import { decodeCursor, encodeCursor } from '@tidemark/core/engine';
import { all } from '../cases/iterate.ts';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** A store whose scans get other options. */
function scansAs(change: (options: KvScanOptions) => KvScanOptions): () => Overrides {
  return () => ({
    kv: (kv) => ({ scan: (prefix, filter, options) => kv.scan(prefix, filter, change({ ...options })) }),
  });
}

const ignoringReverse = ({ reverse: _, ...options }: KvScanOptions) => options;

export const BROKEN_KV_RANGES: readonly BrokenStore[] = [
  broken(
    'to-is-inclusive',
    'includes the end of a range',
    'kv/scan-ranges',
    scansAs(({ to, ...options }) => (to === undefined ? options : { ...options, to: `${to}\u0001` })),
  ),
  broken('range-replaces-prefix', 'ignores the prefix when a range is given', 'kv/scan-ranges', () => ({
    kv: (kv) => ({
      scan: (prefix, filter, options) => kv.scan(options?.from === undefined ? prefix : '', filter, options),
    }),
  })),
  broken('reverse-in-model', 'ignores reverse', 'model/kv', scansAs(ignoringReverse)),
  broken(
    'from-is-ignored',
    'ignores the start of a range',
    'model/kv',
    scansAs(({ from: _, ...options }) => options),
  ),
  broken('reverse-by-page', 'reverses each page of a forward scan', 'kv/scan-reverse-long', () => ({
    kv: (kv) => ({
      async *scan(prefix, filter, options) {
        const { reverse, ...rest }: KvScanOptions = options ?? {};
        const entries = await all(kv.scan(prefix, filter, rest));
        for (let at = 0; at < entries.length; at += 200) {
          const page = entries.slice(at, at + 200);
          yield* reverse ? page.reverse() : page;
        }
      },
    }),
  })),
  broken(
    'keys-with-records',
    'returns whole records when only keys are asked for',
    'kv/scan-keys-only',
    scansAs(({ keysOnly: _, ...options }) => options),
  ),
  broken('cursors-of-any-direction', 'turns around at a cursor', 'kv/scan-cursors-keep-direction', () => ({
    kv: (kv) => ({
      scanPage(prefix: string, options?: KvScanPageOptions): Promise<Page<KvEntry>> {
        const { cursor, reverse } = { ...options };
        if (cursor === undefined) return kv.scanPage(prefix, options);
        const [key, seen] = decodeCursor<[string, number]>(cursor, () => true);
        const turned = encodeCursor(reverse ? [key, seen, 'reverse'] : [key, seen]);
        return kv.scanPage(prefix, { ...options, cursor: turned });
      },
    }),
  })),
  broken('pages-of-any-size', 'fills pages up to their limit, however large', 'kv/pages-end-by-bytes', () => ({
    kv: (kv) => ({
      async scanPage(prefix: string, options?: KvScanPageOptions): Promise<Page<KvEntry>> {
        const { limit = 100 } = { ...options };
        const items: KvEntry[] = [];
        let cursor = options?.cursor;
        do {
          const page = await kv.scanPage(prefix, { ...options, cursor, limit: limit - items.length });
          items.push(...page.items);
          cursor = page.next;
        } while (cursor !== undefined && items.length < limit);
        return cursor === undefined ? { items } : { items, next: cursor };
      },
    }),
  })),
  broken('counts-the-prefix', 'counts all records of a prefix, whatever the range', 'kv/count', {
    kv: (kv) => ({ count: (prefix, { from: _, to: __, ...options } = {}) => kv.count(prefix, options) }),
  }),
  broken('count-is-always-exact', 'calls a lower bound exact', 'kv/count', {
    kv: (kv) => ({ count: async (prefix, options) => ({ ...(await kv.count(prefix, options)), exact: true }) }),
  }),
  broken('deletes-the-prefix', 'deletes a whole prefix, whatever the range', 'kv/delete-prefix-in-steps', {
    kv: (kv) => ({ deletePrefix: (prefix, { from: _, to: __, ...options } = {}) => kv.deletePrefix(prefix, options) }),
  }),
  broken('deletes-from-the-start', 'begins every step at the first key', 'kv/delete-prefix-passes-once', {
    kv: (kv) => ({ deletePrefix: (prefix, { cursor: _, ...options } = {}) => kv.deletePrefix(prefix, options) }),
  }),
];
