/** Broken handling of damaged records: damage that is returned, hidden or affects other records. */
import { isTidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

const changed = { fields: { text: new Uint8Array([1]) }, revision: 1 };

/** Returns a handler that replaces CORRUPT_VALUE with a value. */
function replacedBy<T>(value: T) {
  return (error: unknown): T => {
    if (isTidemarkError(error, 'CORRUPT_VALUE')) return value;
    throw error;
  };
}

export const BROKEN_DAMAGE: readonly BrokenStore[] = [
  broken('damage-returned', 'returns a changed record as if it had been stored', 'kv/damaged-records-are-refused', {
    kv: (kv) => ({ get: (key) => kv.get(key).catch(replacedBy(changed)) }),
  }),
  broken('damaged-fields-returned', 'checks whole records only', 'kv/damaged-records-are-refused', {
    kv: (kv) => ({ getField: (key, field) => kv.getField(key, field).catch(replacedBy(new Uint8Array([1]))) }),
  }),
  broken('damage-hidden-from-pages', 'omits damaged records without naming them', 'kv/damage-stays-where-it-is', {
    kv: (kv) => ({
      scanPage: async (prefix, options) => {
        const { damaged: _, ...page } = await kv.scanPage(prefix, options);
        return page;
      },
    }),
  }),
  broken('damage-stops-scans', 'ends a scan at the first damaged record', 'kv/damage-stays-where-it-is', {
    kv: (kv) => ({
      async *scan(prefix, filter, options) {
        for await (const entry of kv.scan(prefix, filter, options)) {
          // The next entry may be the damaged one.
          if ((await kv.scanPage(prefix)).damaged) await kv.get('damage.b');
          yield entry;
        }
      },
    }),
  }),
];
