/** Compression, encryption and both: what they store, what they refuse, and that nothing readable reaches an engine. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EncodedPayload, PayloadCodec, PayloadContext } from '../contracts/codec.ts';
import type { ErrorCode } from '../contracts/errors.ts';
import { composeCodecs } from './compose.ts';
import { compression } from './compression.ts';
import { encryption, type KeyRing } from './encryption.ts';
import { envelopeOf, isEnvelope, parseEnvelope } from './envelope.ts';
import { Payloads, plain } from './payloads.ts';

const PLACE: PayloadContext = { tenantId: 'acme', kind: 'event', owner: 'run-1', item: 'key-1' };
const TEXT = JSON.stringify({ secret: 'the launch code', 'umlaut ü': '\ud83d\ude00' });
const LONG = JSON.stringify({ words: 'again and again '.repeat(500) });

const ring = (...ids: string[]): KeyRing => ({
  keys: Object.fromEntries(ids.map((id) => [id, randomBytes(32)])),
  current: ids.at(-1)!,
});

const failing = (code: ErrorCode, more: object = {}) => expect.objectContaining({ code, ...more });

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown');
}

function changed(stored: string, change: (payload: EncodedPayload) => EncodedPayload): string {
  return envelopeOf(change(parseEnvelope(stored, PLACE)));
}

describe('encryption', () => {
  const keys = ring('k1');
  const payloads = new Payloads(encryption(keys));

  it('stores an envelope without a readable word, different each time, and reads it back', () => {
    const stored = payloads.encode(TEXT, PLACE);
    expect(isEnvelope(stored)).toBe(true);
    expect(JSON.parse(stored)).toEqual({
      $tidemark: { steps: ['aes-256-gcm'], key: 'k1', data: expect.stringMatching(/^[\w+/]+=*$/) },
    });
    expect(Buffer.from(parseEnvelope(stored, PLACE).data).includes('launch')).toBe(false);
    expect(payloads.encode(TEXT, PLACE)).not.toBe(stored);
    expect(payloads.decode(stored, PLACE)).toEqual(JSON.parse(TEXT));
  });

  it.each<[string, Partial<PayloadContext>]>([
    ['tenant', { tenantId: 'other' }],
    ['kind', { kind: 'memory' }],
    ['owner', { owner: 'run-2' }],
    ['item', { item: 'key-2' }],
    ['item, of none', { item: undefined }],
    ['parts that only join to the same text', { owner: 'run-1key', item: '-1' }],
  ])('refuses a payload that was moved to another %s', (_, other) => {
    const stored = payloads.encode(TEXT, PLACE);
    expect(thrown(() => payloads.decode(stored, { ...PLACE, ...other }))).toEqual(
      failing('CODEC_FAILED', { keyId: 'k1' }),
    );
  });

  it('refuses a payload of which any one byte was changed, cut off or added', () => {
    const stored = payloads.encode(TEXT, PLACE);
    const { length } = parseEnvelope(stored, PLACE).data;
    for (let at = 0; at < length; at++) {
      const flipped = changed(stored, (payload) => {
        payload.data[at]! ^= 1;
        return payload;
      });
      expect(thrown(() => payloads.decode(flipped, PLACE))).toEqual(failing('CODEC_FAILED'));
      const cut = changed(stored, (payload) => ({ ...payload, data: payload.data.subarray(0, at) }));
      expect(thrown(() => payloads.decode(cut, PLACE))).toEqual(failing('CODEC_FAILED'));
    }
    const longer = changed(stored, (payload) => ({
      ...payload,
      data: Buffer.concat([payload.data, Buffer.from('x')]),
    }));
    expect(thrown(() => payloads.decode(longer, PLACE))).toEqual(failing('CODEC_FAILED'));
  });

  it('refuses an envelope whose steps or key id were changed', () => {
    const two = ring('k1', 'k2');
    const same = new Payloads(encryption({ keys: { k1: two.keys.k1!, k2: two.keys.k1! }, current: 'k1' }));
    const stored = same.encode(TEXT, PLACE);
    for (const change of [{ keyId: 'k2' }, { keyId: null }, { steps: ['brotli', 'aes-256-gcm'] }, { steps: [] }]) {
      const other = changed(stored, (payload) => ({ ...payload, ...change }));
      expect(thrown(() => same.decode(other, PLACE))).toEqual(failing('CODEC_FAILED'));
    }
  });

  it.each([
    '{"$tidemark":',
    '{"$tidemark":null}',
    '{"$tidemark":{"steps":"aes-256-gcm","data":""}}',
    '{"$tidemark":{}}',
  ])('refuses the damaged envelope %s', (stored) => {
    expect(thrown(() => payloads.decode(stored, PLACE))).toEqual(failing('CODEC_FAILED'));
  });

  it('reads what older keys of the ring encrypted, and names the key that is missing', () => {
    const both = ring('k1', 'k2');
    const old = new Payloads(encryption({ keys: both.keys, current: 'k1' })).encode(TEXT, PLACE);
    const rotated = new Payloads(encryption(both));
    expect(rotated.decode(old, PLACE)).toEqual(JSON.parse(TEXT));
    expect(parseEnvelope(rotated.encode(TEXT, PLACE), PLACE).keyId).toBe('k2');
    const retired = new Payloads(encryption({ keys: { k2: both.keys.k2! }, current: 'k2' }));
    expect(thrown(() => retired.decode(old, PLACE))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
    const impostor = new Payloads(encryption(ring('k1')));
    expect(thrown(() => impostor.decode(old, PLACE))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
  });

  it('refuses plain payloads, unless they are allowed for a while', () => {
    expect(thrown(() => payloads.decode(TEXT, PLACE))).toEqual(failing('CODEC_FAILED'));
    const moving = new Payloads(encryption({ ...keys, required: false }));
    expect(moving.decode(TEXT, PLACE)).toEqual(JSON.parse(TEXT));
    expect(isEnvelope(moving.encode(TEXT, PLACE))).toBe(true);
    const stripped = envelopeOf(plain(Buffer.from(TEXT)));
    expect(thrown(() => payloads.decode(stripped, PLACE))).toEqual(failing('CODEC_FAILED'));
  });

  it('takes keys of each tenant, and neither reads nor writes once they are destroyed', () => {
    const rings = new Map([
      ['acme', ring('k1')],
      ['other', ring('k1')],
    ]);
    const own = new Payloads(encryption({ keyFor: (tenantId) => rings.get(tenantId) ?? null }));
    const stored = own.encode(TEXT, PLACE);
    expect(own.decode(stored, PLACE)).toEqual(JSON.parse(TEXT));
    rings.delete('acme');
    expect(thrown(() => own.decode(stored, PLACE))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
    expect(thrown(() => own.encode(TEXT, PLACE))).toEqual(failing('CODEC_FAILED'));
    const place = { ...PLACE, tenantId: 'other' };
    expect(own.decode(own.encode(TEXT, place), place)).toEqual(JSON.parse(TEXT));
  });

  it('takes keys as bytes, key objects and web crypto keys', async () => {
    const bytes = randomBytes(32);
    const stored = new Payloads(encryption({ keys: { k: bytes }, current: 'k' })).encode(TEXT, PLACE);
    const webKey = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', true, ['encrypt', 'decrypt']);
    for (const key of [createSecretKey(bytes), webKey]) {
      const same = new Payloads(encryption({ keys: { k: key }, current: 'k' }));
      expect(same.decode(stored, PLACE)).toEqual(JSON.parse(TEXT));
    }
  });

  it('refuses keys of the wrong size and a current key it does not have, without showing any', () => {
    const short = Buffer.from('a key of 24 bytes, sadly');
    const error = thrown(() => encryption({ keys: { k: short }, current: 'k' })) as Error;
    expect(error).toEqual(failing('INVALID_ARGUMENT', { field: 'keys.k' }));
    expect(error.message).not.toContain('sadly');
    expect(thrown(() => encryption({ keys: { k: randomBytes(32) }, current: 'toString' }))).toEqual(
      failing('INVALID_ARGUMENT', { field: 'current' }),
    );
  });
});

describe('compression', () => {
  const payloads = new Payloads(compression({ above: 200 }));

  it('makes what is large and repeats itself small, and leaves the rest as it is', () => {
    const stored = payloads.encode(LONG, PLACE);
    expect(stored.length).toBeLessThan(LONG.length / 20);
    expect(payloads.decode(stored, PLACE)).toEqual(JSON.parse(LONG));
    expect(payloads.encode(TEXT, PLACE)).toBe(TEXT);
    expect(payloads.decode(TEXT, PLACE)).toEqual(JSON.parse(TEXT));
    const noise = JSON.stringify({ noise: randomBytes(2_000).toString('base64') });
    expect(payloads.encode(noise, PLACE)).toBe(noise);
  });

  it('refuses a damaged payload', () => {
    const broken = changed(payloads.encode(LONG, PLACE), (payload) => ({ ...payload, data: Buffer.from('nonsense') }));
    expect(thrown(() => payloads.decode(broken, PLACE))).toEqual(failing('CODEC_FAILED'));
  });
});

describe('chain', () => {
  const encrypt = encryption(ring('k1'));

  it('compresses first, then encrypts', () => {
    const payloads = new Payloads(composeCodecs(compression(), encrypt));
    const stored = payloads.encode(LONG, PLACE);
    expect(parseEnvelope(stored, PLACE).steps).toEqual(['brotli', 'aes-256-gcm']);
    expect(stored.length).toBeLessThan(LONG.length / 20);
    expect(payloads.decode(stored, PLACE)).toEqual(JSON.parse(LONG));
    expect(payloads.decode(payloads.encode(TEXT, PLACE), PLACE)).toEqual(JSON.parse(TEXT));
  });

  it('refuses what is compressed but not encrypted', () => {
    const compressed = new Payloads(compression()).encode(LONG, PLACE);
    const payloads = new Payloads(composeCodecs(compression(), encrypt));
    expect(thrown(() => payloads.decode(compressed, PLACE))).toEqual(failing('CODEC_FAILED'));
  });

  it('refuses any other order', () => {
    const refused: [PayloadCodec, PayloadCodec][] = [
      [encrypt, compression()],
      [encrypt, encrypt],
      [compression(), compression()],
    ];
    for (const [first, second] of refused) {
      expect(thrown(() => composeCodecs(first, second))).toEqual(failing('INVALID_ARGUMENT'));
    }
  });
});

describe('without a codec', () => {
  it('leaves payloads as they are, and names the key of one that was encrypted', () => {
    const none = new Payloads(null);
    expect(none.encode(TEXT, PLACE)).toBe(TEXT);
    expect(none.decode(TEXT, PLACE)).toEqual(JSON.parse(TEXT));
    const stored = new Payloads(encryption(ring('2026'))).encode(TEXT, PLACE);
    const error = thrown(() => none.decode(stored, PLACE)) as Error;
    expect(error).toEqual(failing('CODEC_FAILED', { keyId: '2026', runId: 'run-1' }));
    expect(error.message).toContain('"2026"');
  });
});
