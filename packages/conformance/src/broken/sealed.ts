/** Broken sealing: sealed fields that are stored plain, compared, moved, or reported as damaged. */
import { isTidemarkError, type KvStore, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken, brokenCodec } from './wrap.ts';

/** Returns the result of a fallback if the call fails with the given code. */
async function unlessRefused<T>(
  code: 'CODEC_FAILED' | 'INVALID_ARGUMENT',
  call: () => Promise<T>,
  other: () => T | Promise<T>,
) {
  try {
    return await call();
  } catch (error) {
    if (!isTidemarkError(error, code)) throw error;
    return other();
  }
}

const MARKER = Buffer.from('\xfftidemark\xfe', 'latin1');

function looksSealed(record: Awaited<ReturnType<KvStore['get']>>): boolean {
  return Object.values(record?.fields ?? {}).some((bytes) => Buffer.from(bytes).indexOf(MARKER) === 0);
}

export const BROKEN_SEALING: readonly BrokenStore[] = [
  broken('sealing-of-fields-forgotten', 'ignores `sealed` of setField', 'kv/sealed-fields-come-back', {
    kv: (kv) => ({
      setField: (key, field, value, options) => kv.setField(key, field, value, { ...options, sealed: false }),
    }),
  }),
  brokenCodec(
    'sealed-for-the-record',
    'encodes all fields of a record for the same context',
    'kv/sealed-fields-have-their-own-place',
    (codec) => ({
      encode: (payload, { item: _, ...context }) => codec.encode(payload, context),
      decode: (payload, { item: _, ...context }) => codec.decode(payload, context),
    }),
  ),
  broken('compares-sealed-forms', 'compares the stored form of sealed fields', 'kv/sealed-fields-are-not-compared', {
    kv: (kv) => ({
      compareAndSwap: (...args) =>
        unlessRefused(
          'INVALID_ARGUMENT',
          () => kv.compareAndSwap(...args),
          () => false,
        ),
    }),
  }),
  broken('plain-without-a-codec', 'stores plain values when it cannot seal them', 'kv/sealing-is-refused', {
    kv: (kv) => ({
      put: (key, fields, options) =>
        unlessRefused(
          'INVALID_ARGUMENT',
          () => kv.put(key, fields, options),
          () => kv.put(key, fields, { ...options, sealed: false }),
        ),
    }),
  }),
  broken('missing-key-as-damage', 'omits records whose key is missing from pages', 'kv/sealed-fields-change-keys', {
    kv: (kv) => ({
      scanPage: ((prefix, options) =>
        unlessRefused(
          'CODEC_FAILED',
          () => kv.scanPage(prefix, options),
          () => ({ items: [], damaged: [prefix] }),
        )) as KvStore['scanPage'],
    }),
  }),
  broken('believes-the-marker', 'takes bytes of a caller for a sealed value', 'kv/sealed-form-cannot-be-forged', {
    kv: (kv) => ({
      async get(key, options) {
        const record = await kv.get(key, options);
        if (looksSealed(record)) throw new TidemarkError('CODEC_FAILED', 'The value cannot be decoded');
        return record;
      },
    }),
  }),
];
