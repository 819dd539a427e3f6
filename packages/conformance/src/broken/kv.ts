/** Broken KV stores: replacement, TTL, swaps, revisions, scans, filters and keys. */
import type { KvEntry, KvPredicate, KvStore, ScanFilter } from '@tidemark/core';
import { textOf } from '@tidemark/core';
import { all } from '../cases/iterate.ts';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** A store whose scans select entries with `choose`. */
function scansWith(
  choose: (entries: KvEntry[], prefix: string, filter: ScanFilter | undefined) => KvEntry[],
): () => Overrides {
  return () => ({
    kv: (kv) => ({
      async *scan(prefix, filter) {
        yield* choose(await all(kv.scan('')), prefix, filter);
      },
    }),
  });
}

/** A store that matches prefixes as a pattern of its engine. */
function patternScan(pattern: (prefix: string) => string): () => Overrides {
  return scansWith((entries, prefix) => {
    const expression = new RegExp(`^${pattern(prefix)}`, 's');
    return entries.filter((it) => expression.test(it.key));
  });
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

const likePattern = (prefix: string) => escaped(prefix).replaceAll('%', '.*').replaceAll('_', '.');
const globPattern = (prefix: string) => escaped(prefix).replaceAll('\\*', '.*').replaceAll('\\?', '.');

function predicatesOf(filter: ScanFilter | undefined): readonly KvPredicate[] {
  if (!filter) return [];
  return 'field' in filter ? [filter] : (filter.where ?? []);
}

export const BROKEN_KV: readonly BrokenStore[] = [
  broken('like-prefix', 'uses the prefix as a LIKE pattern', 'kv/prefix-is-text', patternScan(likePattern)),
  broken('like-prefix-by-model', 'uses the prefix as a LIKE pattern', 'model/kv', patternScan(likePattern)),
  broken('glob-prefix', 'uses the prefix as a glob', 'kv/prefix-is-text', patternScan(globPattern)),
  broken(
    'utf16-order',
    'orders keys by UTF-16 units as JavaScript does',
    'kv/scan-in-byte-order',
    scansWith((entries) => entries.sort((a, b) => (a.key < b.key ? -1 : 1))),
  ),
  broken(
    'bytewise-numbers',
    'compares numbers as text, so that 9 is above 10',
    'kv/filter-compares-integers-as-numbers',
    scansWith((entries, prefix, filter) => {
      return entries.filter(
        ({ key, record }) =>
          key.startsWith(prefix) && predicatesOf(filter).every((it) => bytewise(textOf(record.fields[it.field]), it)),
      );
    }),
  ),
  broken(
    'max-results-counts-rows',
    'counts examined records against maxResults',
    'kv/max-results-counts-matches',
    () => ({
      kv: (kv) => ({
        async *scan(prefix, filter, options) {
          const { maxResults, ...rest } = filter ?? {};
          const looked = (await all(kv.scan(prefix))).slice(0, maxResults).map((it) => it.key);
          for await (const entry of kv.scan(prefix, rest as ScanFilter, options))
            if (looked.includes(entry.key)) yield entry;
        },
      }),
    }),
  ),
  broken('ne-needs-the-field', 'lets ne match only records that have the field', 'kv/filter-operators', () => ({
    kv: (kv) => ({
      async *scan(prefix, filter, options) {
        const needed = predicatesOf(filter).filter((it) => it.op === 'ne');
        for await (const entry of kv.scan(prefix, filter, options))
          if (needed.every((it) => it.field in entry.record.fields)) yield entry;
      },
    }),
  })),
  broken('page-repeats', 'starts each page with the last key of the page before', 'kv/pages-join-without-loss', () => {
    const lasts = new Map<string, KvEntry>();
    return {
      kv: (kv) => ({
        async scanPage(prefix, options) {
          const page = await kv.scanPage(prefix, options);
          const before = options?.cursor === undefined ? undefined : lasts.get(options.cursor);
          if (page.next !== undefined) lasts.set(page.next, page.items.at(-1)!);
          return before ? { ...page, items: [before, ...page.items] } : page;
        },
      }),
    };
  }),
  broken('put-merges', 'merges the fields of a put into the old record', 'kv/put-replaces-the-whole-record', () => ({
    kv: (kv) => ({
      async put(key, fields, options) {
        const old = await kv.get(key);
        return kv.put(key, { ...old?.fields, ...fields }, options);
      },
    }),
  })),
  broken('put-keeps-ttl', 'keeps the old TTL when put has none', 'kv/put-clears-an-old-ttl', () => ({
    kv: (kv) => ({
      async put(key, fields, options) {
        const ttl = options?.ttl ?? (await kv.get(key))?.ttl;
        return kv.put(key, fields, { ...options, ...(ttl === undefined ? {} : { ttl }) });
      },
    }),
  })),
  broken('set-field-clears-ttl', 'clears the TTL when a field is written', 'kv/field-writes-keep-the-ttl', () => ({
    kv: (kv) => ({
      async setField(key, field, value, options) {
        const result = await kv.setField(key, field, value, options);
        await kv.touch(key, null);
        return result;
      },
    }),
  })),
  broken(
    'expired-in-scans',
    'hides expired records from get but not from scans',
    'kv/expired-is-invisible-everywhere',
    expiredInScans,
  ),
  broken('put-in-two-steps', 'replaces a record by a delete and a write', 'kv/put-is-atomic', () => ({
    kv: (kv) => ({
      async put(key, fields, options) {
        await kv.delete(key);
        await new Promise(setImmediate);
        return kv.put(key, fields, options);
      },
    }),
  })),
  broken(
    'read-modify-write',
    'writes a field by reading and replacing the whole record',
    'kv/field-writes-do-not-lose-each-other',
    () => ({
      kv: (kv) => ({
        async setField(key, field, value, options) {
          const old = await kv.get(key);
          await new Promise(setImmediate);
          return kv.put(key, { ...old?.fields, [field]: value }, options);
        },
      }),
    }),
  ),
  broken('racy-swap', 'compares first and swaps later', 'kv/one-claim-wins', () => ({ kv: racySwap })),
  broken('racy-counter', 'compares first and swaps later', 'kv/counter-loses-no-update', () => ({ kv: racySwap })),
  broken('null-is-empty', 'treats an absent field as empty', 'kv/null-means-absent-in-swaps', () => ({
    kv: (kv) => ({
      async compareAndSwap(key, field, expected, next, options) {
        if (expected === '' && (await kv.getField(key, field)) === null)
          return kv.compareAndSwap(key, field, null, next, options);
        return kv.compareAndSwap(key, field, expected, next, options);
      },
    }),
  })),
  broken('swap-keeps-quiet', 'does not return the current record when a swap fails', 'kv/swap-several-fields', () => ({
    kv: (kv) => ({
      async swap(key, change, options) {
        const result = await kv.swap(key, change, options);
        return result.swapped ? result : { swapped: false, record: null };
      },
    }),
  })),
  broken('requests-forgotten', 'forgets applied requests', 'kv/retried-winner-hears-true', () => ({
    kv: (kv) => ({
      compareAndSwap: (key, field, expected, next, { requestId: _, ...options } = {}) =>
        kv.compareAndSwap(key, field, expected, next, options),
    }),
  })),
  broken('revision-restarts', 'restarts revisions at 1 after a delete', 'kv/revision-grows-and-never-repeats', () => {
    const offsets = new Map<string, number>();
    return {
      kv: (kv) => ({
        async get(key, options) {
          const record = await kv.get(key, options);
          return record && { ...record, revision: record.revision - (offsets.get(key) ?? 0) };
        },
        async delete(key, options) {
          offsets.set(key, (await kv.get(key))?.revision ?? 0);
          return kv.delete(key, options);
        },
      }),
    };
  }),
  broken('revision-falls', 'lowers the revision with each change', 'kv/revision-grows-and-never-repeats', () => ({
    kv: (kv) => ({
      async get(key, options) {
        const record = await kv.get(key, options);
        return record && { ...record, revision: Number.MAX_SAFE_INTEGER - record.revision };
      },
    }),
  })),
  broken('resurrects', 'ignores ifExists', 'kv/if-exists-does-not-resurrect', () => ({
    kv: (kv) => ({
      setField: (key, field, value, { ifExists: _, ...options } = {}) => kv.setField(key, field, value, options),
    }),
  })),
  broken('proto-field-lost', 'reads fields into an ordinary object', 'kv/hostile-fields-never-meet', () => ({
    kv: (kv) => ({
      async get(key, options) {
        const record = await kv.get(key, options);
        if (!record) return null;
        const fields: Record<string, Uint8Array> = {};
        for (const [name, value] of Object.entries(record.fields)) fields[name] = value;
        return { ...record, fields };
      },
    }),
  })),
  broken(
    'lossy-keys',
    'replaces characters in keys that its engine does not support',
    'kv/hostile-keys-never-meet',
    () => {
      const encode = (key: string) => key.replace(/[^\w.-]/g, '_');
      return {
        kv: (kv) => ({
          put: (key, fields, options) => kv.put(encode(key), fields, options),
          get: (key, options) => kv.get(encode(key), options),
        }),
      };
    },
  ),
  broken('get-many-sorts', 'returns getMany results in key order', 'kv/get-many-keeps-order', () => ({
    kv: (kv) => ({ getMany: (keys, options) => kv.getMany([...keys].sort(), options) }),
  })),
  broken('watch-misses-deletes', 'reports puts only', 'kv/watch-reports-puts-and-deletes', () => ({
    kv: (kv) => ({
      async *watch(prefix, options) {
        for await (const change of kv.watch(prefix, options)) if (change.type === 'put') yield change;
      },
    }),
  })),
];

function bytewise(value: string | null, { op, value: expected }: KvPredicate): boolean {
  const other = String(expected);
  if (value === null) return op === 'ne';
  return {
    eq: value === other,
    ne: value !== other,
    lt: value < other,
    gt: value > other,
    lte: value <= other,
    gte: value >= other,
    in: false,
  }[op];
}

function racySwap(kv: KvStore): Partial<KvStore> {
  return {
    async compareAndSwap(key, field, expected, next, options) {
      const current = textOf(await kv.getField(key, field));
      await new Promise(setImmediate);
      if (current !== (expected === null ? null : String(expected))) return false;
      await kv.setFields(key, { [field]: next }, options);
      return true;
    },
  };
}

/** Stores the expiry separately from the records and ignores it in scans. */
function expiredInScans(): Overrides {
  const expiries = new Map<string, number>();
  return {
    kv: (kv, _, now) => {
      const isGone = (key: string) => (expiries.get(key) ?? Number.POSITIVE_INFINITY) <= now();
      return {
        put(key, fields, { ttl, ...options } = {}) {
          if (typeof ttl === 'number') expiries.set(key, now() + ttl);
          return kv.put(key, fields, options);
        },
        async get(key, options) {
          const expiry = expiries.get(key);
          const record = isGone(key) ? null : await kv.get(key, options);
          return record && expiry !== undefined ? { ...record, ttl: expiry - now() } : record;
        },
        getField: async (key, field, options) => (isGone(key) ? null : kv.getField(key, field, options)),
        getMany: async (keys, options) =>
          (await kv.getMany(keys, options)).map((it, at) => (isGone(keys[at]!) ? null : it)),
      };
    },
  };
}
