/** Stores whose codec is not what it says: plain where it should be secret, or secret for good. */
import type { EncodedPayload, PayloadContext } from '@tidemark/core';
import { type BrokenStore, broken, brokenCodec } from './wrap.ts';

const asItIs = (payload: EncodedPayload) => payload;

export const BROKEN_CODECS: readonly BrokenStore[] = [
  brokenCodec('codec-not-applied', 'stores everything plain', 'general/codec-leaves-nothing-readable', () => ({
    encode: asItIs,
    decode: asItIs,
  })),
  brokenCodec('codec-not-taken-back', 'gives what it stored', 'general/codec-gives-back-what-was-sent', () => ({
    decode: (payload) => ({ ...payload, steps: [], data: Buffer.from('{}') }),
  })),
  brokenCodec('plain-accepted', 'reads what is not encrypted', 'general/codec-refuses-plain-payloads', (codec) => ({
    decode: (payload, place) => (payload.steps.length === 0 ? payload : codec.decode(payload, place)),
  })),
  brokenCodec('places-shared', 'encodes all for one place', 'general/codec-places-are-apart', (codec) => {
    const anywhere = (place: PayloadContext): PayloadContext => ({ ...place, owner: 'anything', item: undefined });
    return { encode: (payload, place) => codec.encode(payload, anywhere(place)) };
  }),
  brokenCodec('limits-count-stored-bytes', 'cuts what grew', 'general/codec-limits-count-plain-bytes', (codec) => ({
    encode(payload, place) {
      const encoded = codec.encode(payload, place);
      return { ...encoded, data: encoded.data.subarray(0, 500_000) };
    },
  })),
  broken('reserved-member-passes', 'stores what looks encoded', 'general/reserved-member-is-refused', () => ({
    agents: (agents) => ({
      saveMemoryState: (key, state, options) =>
        agents.saveMemoryState(key, '$tidemark' in state ? { forged: true } : state, options),
    }),
  })),
  broken('unread-pause-is-lost', 'takes what it cannot read', 'general/codec-failure-loses-no-pause', () => ({
    agents: (agents) => ({
      claimPause: (token, options) =>
        agents.claimPause(token, options).catch(async (error: Error) => {
          await agents.loadPlannerState(token).catch(() => undefined);
          throw error;
        }),
    }),
  })),
  broken('duplicates-by-stored-text', 'compares what it stored', 'runs/codec-keeps-chain-and-duplicates', () => ({
    runs: (runs) => ({
      async appendEvent(event, options) {
        const result = await runs.appendEvent(event, options);
        return result.idempotent ? { ...result, payloadMatches: false } : result;
      },
    }),
  })),
  brokenCodec('first-key-for-ever', 'goes on with the old key', 'general/codec-keys-are-changed', (codec) => ({
    encode: (payload, place) => ({ ...codec.encode(payload, place), keyId: 'old' }),
  })),
  brokenCodec('writes-without-key', 'writes plain when the key is gone', 'general/codec-key-destroyed', (codec) => ({
    encode(payload, place) {
      try {
        return codec.encode(payload, place);
      } catch {
        return payload;
      }
    },
  })),
  broken('feed-passes-over-unasked', 'skips what it cannot read', 'runs/feed-passes-over-destroyed-keys', () => ({
    runs: (runs) => ({ feedPage: (options) => runs.feedPage({ ...options, unreadable: 'skip' }) }),
  })),
  broken('hash-of-the-stored-form', 'tells the hash of what it stored', 'artifacts/codec-bytes-come-back', () => ({
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
