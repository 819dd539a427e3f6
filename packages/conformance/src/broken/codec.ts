/** Broken codecs: payloads stored in plain text, or permanently unreadable. */
import type { EncodedPayload, PayloadContext } from '@tidemark/core';
import { type BrokenStore, broken, brokenCodec } from './wrap.ts';

const unchanged = (payload: EncodedPayload) => payload;

export const BROKEN_CODECS: readonly BrokenStore[] = [
  brokenCodec('codec-not-applied', 'stores everything in plain text', 'general/codec-leaves-nothing-readable', () => ({
    encode: unchanged,
    decode: unchanged,
  })),
  brokenCodec(
    'codec-not-taken-back',
    'does not decode what it reads',
    'general/codec-gives-back-what-was-sent',
    () => ({
      decode: (payload) => ({ ...payload, steps: [], data: Buffer.from('{}') }),
    }),
  ),
  brokenCodec(
    'plain-accepted',
    'accepts payloads that are not encrypted',
    'general/codec-refuses-plain-payloads',
    (codec) => ({
      decode: (payload, context) => (payload.steps.length === 0 ? payload : codec.decode(payload, context)),
    }),
  ),
  brokenCodec(
    'parts-swap-chunks',
    'returns the first chunk of an artifact for every other one',
    'artifacts/codec-parts-come-back',
    (codec) => {
      let first: EncodedPayload | undefined;
      return {
        encode(payload, context) {
          if (context.kind === 'artifact-bytes' && context.item === '0') first = payload;
          const isLater = context.kind === 'artifact-bytes' && context.item !== '0';
          return codec.encode(
            isLater && first ? { ...first, data: first.data.subarray(0, payload.data.length) } : payload,
            context,
          );
        },
      };
    },
  ),
  brokenCodec('places-shared', 'encodes all payloads for one context', 'general/codec-places-are-apart', (codec) => {
    const anywhere = (context: PayloadContext): PayloadContext => ({ ...context, owner: 'anything', item: undefined });
    return { encode: (payload, context) => codec.encode(payload, anywhere(context)) };
  }),
  brokenCodec(
    'limits-count-stored-bytes',
    'truncates payloads that encoding made larger',
    'general/codec-limits-count-plain-bytes',
    (codec) => ({
      encode(payload, context) {
        const encoded = codec.encode(payload, context);
        return { ...encoded, data: encoded.data.subarray(0, 500_000) };
      },
    }),
  ),
  broken(
    'reserved-member-passes',
    'accepts a payload that looks encoded',
    'general/reserved-member-is-refused',
    () => ({
      agents: (agents) => ({
        saveMemoryState: (key, state, options) =>
          agents.saveMemoryState(key, '$tidemark' in state ? { forged: true } : state, options),
      }),
    }),
  ),
  broken(
    'unread-pause-is-lost',
    'consumes a pause that it cannot decode',
    'general/codec-failure-loses-no-pause',
    () => ({
      agents: (agents) => ({
        claimPause: (token, options) =>
          agents.claimPause(token, options).catch(async (error: Error) => {
            await agents.loadPlannerState(token).catch(() => undefined);
            throw error;
          }),
      }),
    }),
  ),
  broken(
    'duplicates-by-stored-text',
    'compares stored forms to detect duplicates',
    'runs/codec-keeps-chain-and-duplicates',
    () => ({
      runs: (runs) => ({
        async appendEvent(event, options) {
          const result = await runs.appendEvent(event, options);
          return result.idempotent ? { ...result, payloadMatches: false } : result;
        },
      }),
    }),
  ),
  brokenCodec('first-key-for-ever', 'keeps writing with the old key', 'general/codec-keys-are-changed', (codec) => ({
    encode: (payload, context) => ({ ...codec.encode(payload, context), keyId: 'old' }),
  })),
  brokenCodec(
    'writes-without-key',
    'writes plain text when the key is gone',
    'general/codec-key-destroyed',
    (codec) => ({
      encode(payload, context) {
        try {
          return codec.encode(payload, context);
        } catch {
          return payload;
        }
      },
    }),
  ),
  broken(
    'feed-passes-over-unasked',
    'skips events it cannot decode without being asked',
    'runs/feed-passes-over-destroyed-keys',
    () => ({
      runs: (runs) => ({ feedPage: (options) => runs.feedPage({ ...options, unreadable: 'skip' }) }),
    }),
  ),
  broken('hash-of-the-stored-form', 'returns the hash of the stored form', 'artifacts/codec-bytes-come-back', () => ({
    artifacts: (artifacts) => ({
      putBytes: async (bytes, options) => ({ ...(await artifacts.putBytes(bytes, options)), sha256: '0'.repeat(64) }),
    }),
  })),
  broken('encoded-over-plain', 'deletes the plain bytes with the encoded', 'artifacts/codec-beside-plain', () => ({
    artifacts: (artifacts) => ({
      async delete(id, access) {
        for (const ref of (await artifacts.list({ sessionId: 'plain' })).items) await artifacts.delete(ref.id);
        return artifacts.delete(id, access);
      },
    }),
  })),
];
