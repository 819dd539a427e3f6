/** Compression, encryption and both: the stored form, rejected payloads, and that engines see no readable text. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EncodedPayload, PayloadCodec, PayloadContext } from '../contracts/codec.ts';
import type { ErrorCode } from '../contracts/errors.ts';
import { composeCodecs } from './compose.ts';
import { compression } from './compression.ts';
import { encryption, type KeyRing } from './encryption.ts';
import { formatEnvelope, isEnvelope, parseEnvelope } from './envelope.ts';
import { Payloads, plain } from './payloads.ts';

const CONTEXT: PayloadContext = { tenantId: 'acme', kind: 'event', owner: 'run-1', item: 'key-1' };
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
  return formatEnvelope(change(parseEnvelope(stored, CONTEXT)));
}

describe('encryption', () => {
  const keys = ring('k1');
  const payloads = new Payloads(encryption(keys));

  it('stores an envelope without readable text, different each time, and reads it back', () => {
    const stored = payloads.encode(TEXT, CONTEXT);
    expect(isEnvelope(stored)).toBe(true);
    expect(JSON.parse(stored)).toEqual({
      $tidemark: { steps: ['aes-256-gcm'], key: 'k1', data: expect.stringMatching(/^[\w+/]+=*$/) },
    });
    expect(Buffer.from(parseEnvelope(stored, CONTEXT).data).includes('launch')).toBe(false);
    expect(payloads.encode(TEXT, CONTEXT)).not.toBe(stored);
    expect(payloads.decode(stored, CONTEXT)).toEqual(JSON.parse(TEXT));
  });

  it.each<[string, Partial<PayloadContext>]>([
    ['tenant', { tenantId: 'other' }],
    ['kind', { kind: 'memory' }],
    ['owner', { owner: 'run-2' }],
    ['item', { item: 'key-2' }],
    ['context without an item', { item: undefined }],
    ['context whose parts join to the same text', { owner: 'run-1key', item: '-1' }],
  ])('rejects a payload that was moved to another %s', (_, other) => {
    const stored = payloads.encode(TEXT, CONTEXT);
    expect(thrown(() => payloads.decode(stored, { ...CONTEXT, ...other }))).toEqual(
      failing('CODEC_FAILED', { keyId: 'k1' }),
    );
  });

  it('rejects a payload with any byte changed, cut off or added', () => {
    const stored = payloads.encode(TEXT, CONTEXT);
    const { length } = parseEnvelope(stored, CONTEXT).data;
    for (let at = 0; at < length; at++) {
      const flipped = changed(stored, (payload) => {
        payload.data[at]! ^= 1;
        return payload;
      });
      expect(thrown(() => payloads.decode(flipped, CONTEXT))).toEqual(failing('CODEC_FAILED'));
      const cut = changed(stored, (payload) => ({ ...payload, data: payload.data.subarray(0, at) }));
      expect(thrown(() => payloads.decode(cut, CONTEXT))).toEqual(failing('CODEC_FAILED'));
    }
    const longer = changed(stored, (payload) => ({
      ...payload,
      data: Buffer.concat([payload.data, Buffer.from('x')]),
    }));
    expect(thrown(() => payloads.decode(longer, CONTEXT))).toEqual(failing('CODEC_FAILED'));
  });

  it('rejects an envelope whose steps or key id were changed', () => {
    const two = ring('k1', 'k2');
    const same = new Payloads(encryption({ keys: { k1: two.keys.k1!, k2: two.keys.k1! }, current: 'k1' }));
    const stored = same.encode(TEXT, CONTEXT);
    for (const change of [{ keyId: 'k2' }, { keyId: null }, { steps: ['brotli', 'aes-256-gcm'] }, { steps: [] }]) {
      const other = changed(stored, (payload) => ({ ...payload, ...change }));
      expect(thrown(() => same.decode(other, CONTEXT))).toEqual(failing('CODEC_FAILED'));
    }
  });

  it.each([
    '{"$tidemark":',
    '{"$tidemark":null}',
    '{"$tidemark":{"steps":"aes-256-gcm","data":""}}',
    '{"$tidemark":{}}',
  ])('rejects the damaged envelope %s', (stored) => {
    expect(thrown(() => payloads.decode(stored, CONTEXT))).toEqual(failing('CODEC_FAILED'));
  });

  it('reads payloads encrypted with older keys of the ring, and names a missing key', () => {
    const both = ring('k1', 'k2');
    const old = new Payloads(encryption({ keys: both.keys, current: 'k1' })).encode(TEXT, CONTEXT);
    const rotated = new Payloads(encryption(both));
    expect(rotated.decode(old, CONTEXT)).toEqual(JSON.parse(TEXT));
    expect(parseEnvelope(rotated.encode(TEXT, CONTEXT), CONTEXT).keyId).toBe('k2');
    const retired = new Payloads(encryption({ keys: { k2: both.keys.k2! }, current: 'k2' }));
    expect(thrown(() => retired.decode(old, CONTEXT))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
    const impostor = new Payloads(encryption(ring('k1')));
    expect(thrown(() => impostor.decode(old, CONTEXT))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
  });

  it('rejects plain payloads unless required is false', () => {
    expect(thrown(() => payloads.decode(TEXT, CONTEXT))).toEqual(failing('CODEC_FAILED'));
    const moving = new Payloads(encryption({ ...keys, required: false }));
    expect(moving.decode(TEXT, CONTEXT)).toEqual(JSON.parse(TEXT));
    expect(isEnvelope(moving.encode(TEXT, CONTEXT))).toBe(true);
    const stripped = formatEnvelope(plain(Buffer.from(TEXT)));
    expect(thrown(() => payloads.decode(stripped, CONTEXT))).toEqual(failing('CODEC_FAILED'));
  });

  it('uses the keys of each tenant, and cannot read or write after they are destroyed', () => {
    const rings = new Map([
      ['acme', ring('k1')],
      ['other', ring('k1')],
    ]);
    const own = new Payloads(encryption({ keyFor: (tenantId) => rings.get(tenantId) ?? null }));
    const stored = own.encode(TEXT, CONTEXT);
    expect(own.decode(stored, CONTEXT)).toEqual(JSON.parse(TEXT));
    rings.delete('acme');
    expect(thrown(() => own.decode(stored, CONTEXT))).toEqual(failing('CODEC_FAILED', { keyId: 'k1' }));
    expect(thrown(() => own.encode(TEXT, CONTEXT))).toEqual(failing('CODEC_FAILED'));
    const context = { ...CONTEXT, tenantId: 'other' };
    expect(own.decode(own.encode(TEXT, context), context)).toEqual(JSON.parse(TEXT));
  });

  it('accepts keys as bytes, key objects or web crypto keys', async () => {
    const bytes = randomBytes(32);
    const stored = new Payloads(encryption({ keys: { k: bytes }, current: 'k' })).encode(TEXT, CONTEXT);
    const webKey = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', true, ['encrypt', 'decrypt']);
    for (const key of [createSecretKey(bytes), webKey]) {
      const same = new Payloads(encryption({ keys: { k: key }, current: 'k' }));
      expect(same.decode(stored, CONTEXT)).toEqual(JSON.parse(TEXT));
    }
  });

  it('keeps its keys when the caller wipes the bytes they were passed in', () => {
    const [bytes, older] = [randomBytes(32), randomBytes(32)];
    const own = new Payloads(encryption({ keys: { k: bytes, older }, current: 'k' }));
    const stored = own.encode(TEXT, CONTEXT);
    const before = new Payloads(encryption({ keys: { older: Buffer.from(older) }, current: 'older' }));
    for (const key of [bytes, older]) key.fill(0);
    expect(own.decode(stored, CONTEXT)).toEqual(JSON.parse(TEXT));
    expect(own.decode(before.encode(TEXT, CONTEXT), CONTEXT)).toEqual(JSON.parse(TEXT));
  });

  it('rejects keys of the wrong size and an unknown current key, without showing a key', () => {
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

  it('compresses large repetitive payloads and leaves the rest unchanged', () => {
    const stored = payloads.encode(LONG, CONTEXT);
    expect(stored.length).toBeLessThan(LONG.length / 20);
    expect(payloads.decode(stored, CONTEXT)).toEqual(JSON.parse(LONG));
    expect(payloads.encode(TEXT, CONTEXT)).toBe(TEXT);
    expect(payloads.decode(TEXT, CONTEXT)).toEqual(JSON.parse(TEXT));
    const noise = JSON.stringify({ noise: randomBytes(2_000).toString('base64') });
    expect(payloads.encode(noise, CONTEXT)).toBe(noise);
  });

  it('rejects a damaged payload', () => {
    const broken = changed(payloads.encode(LONG, CONTEXT), (payload) => ({
      ...payload,
      data: Buffer.from('nonsense'),
    }));
    expect(thrown(() => payloads.decode(broken, CONTEXT))).toEqual(failing('CODEC_FAILED'));
  });
});

describe('composeCodecs', () => {
  const encrypt = encryption(ring('k1'));

  it('compresses first, then encrypts', () => {
    const payloads = new Payloads(composeCodecs(compression(), encrypt));
    const stored = payloads.encode(LONG, CONTEXT);
    expect(parseEnvelope(stored, CONTEXT).steps).toEqual(['brotli', 'aes-256-gcm']);
    expect(stored.length).toBeLessThan(LONG.length / 20);
    expect(payloads.decode(stored, CONTEXT)).toEqual(JSON.parse(LONG));
    expect(payloads.decode(payloads.encode(TEXT, CONTEXT), CONTEXT)).toEqual(JSON.parse(TEXT));
  });

  it('rejects a payload that is compressed but not encrypted', () => {
    const compressed = new Payloads(compression()).encode(LONG, CONTEXT);
    const payloads = new Payloads(composeCodecs(compression(), encrypt));
    expect(thrown(() => payloads.decode(compressed, CONTEXT))).toEqual(failing('CODEC_FAILED'));
  });

  it('rejects any other order', () => {
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
  it('leaves payloads unchanged, and names the key of an encrypted one', () => {
    const none = new Payloads(null);
    expect(none.encode(TEXT, CONTEXT)).toBe(TEXT);
    expect(none.decode(TEXT, CONTEXT)).toEqual(JSON.parse(TEXT));
    const stored = new Payloads(encryption(ring('2026'))).encode(TEXT, CONTEXT);
    const error = thrown(() => none.decode(stored, CONTEXT)) as Error;
    expect(error).toEqual(failing('CODEC_FAILED', { keyId: '2026', runId: 'run-1' }));
    expect(error.message).toContain('"2026"');
  });
});
