import { describe, expect, it } from 'vitest';
import type { StoreOptions } from '../contracts/store.ts';
import { keyedArtifacts } from '../keyed/artifacts.ts';
import { memoryBlobs } from '../memory/blobs.ts';
import { memoryRecords } from '../memory/records.ts';
import { memoryStore } from '../memory/store.ts';
import { StoreContext } from '../tools/context.ts';
import { HashedChunks } from './chunks.ts';
import { createArtifacts } from './store.ts';

function open(options: StoreOptions['artifacts'] = {}) {
  const time = { now: 1_000_000 };
  const context = new StoreContext({ clock: () => time.now, artifacts: options });
  const engine = keyedArtifacts(context, memoryRecords(context), memoryBlobs(context));
  return {
    engine,
    store: createArtifacts(context, engine, 'default', false),
    tenant: createArtifacts(context, engine, 'acme', true),
    time,
  };
}

async function* streamOf(...chunks: Uint8Array[]) {
  yield* chunks;
}

describe('artifacts (AGT-11)', () => {
  it('returns one reference for a stream, the same bytes and a retry, and reads in even chunks', async () => {
    const { store } = open();
    const bytes = new Uint8Array(700_000).map((_, at) => at % 251);
    const ref = await store.putStream(streamOf(bytes.subarray(0, 3), bytes.subarray(3)));
    expect(await store.putBytes(bytes)).toEqual(ref);
    expect(Buffer.compare((await store.get(ref.id))!, bytes)).toBe(0);
    const sizes: number[] = [];
    for await (const chunk of (await store.getStream(ref.id))!) sizes.push(chunk.length);
    expect(sizes).toEqual([262_144, 262_144, 175_712]);
  });

  it('fails with CORRUPT_VALUE when the bytes of a reference are missing', async () => {
    const { store, engine } = open();
    const { id } = await store.putText('text');
    engine.getBlob = async () => null;
    const gone = { code: 'CORRUPT_VALUE', message: expect.stringContaining('are missing or altered') };
    await expect(store.get(id)).rejects.toMatchObject(gone);
    const stream = (await store.getStream(id))!;
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject(gone);
  });

  it('throws when the hash of a stream is read before its end', async () => {
    const chunks = new HashedChunks(streamOf(Buffer.from('text')), () => {});
    expect(() => chunks.sha256()).toThrow('once all chunks were read');
    for await (const _ of chunks.chunks);
    expect(chunks.sha256()).toBe('982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1');
  });

  it('stops a stream that grows too large and stores nothing', async () => {
    const { store } = open({ maxArtifactBytes: 10 });
    const put = store.putStream(streamOf(new Uint8Array(8), new Uint8Array(8)));
    await expect(put).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect((await store.list()).items).toEqual([]);
    expect(await store.sweep({ grace: 1 })).toEqual({ references: 0, blobs: 0, bytes: 0 });
  });

  it('evicts the least recently used artifact of a session, not of other sessions', async () => {
    const { store, time } = open({ maxSessionCount: 2 });
    const put = (text: string, sessionId: string) => store.putText(text, { scope: { sessionId } });
    const [a, b, other] = [await put('a', 's'), await put('b', 's'), await put('a', 'other')];
    time.now += 1;
    await store.get(a.id);
    time.now += 1;
    const c = await put('c', 's');
    expect((await store.list({ sessionId: 's' })).items.map((ref) => ref.id)).toEqual([a.id, c.id].sort());
    expect(await store.exists(b.id)).toBe(false);
    expect(await store.exists(other.id, { scope: { sessionId: 'other' } })).toBe(true);
    expect(await store.exists(other.id, { scope: { sessionId: 's' } })).toBe(false);
  });

  it('sweeps expired references, and unreferenced bytes after the grace period', async () => {
    const { store, tenant, time } = open();
    const kept = await tenant.putText('shared', { ttl: null });
    const gone = await store.putText('shared', { ttl: '1s' });
    time.now += 1_000;
    expect(await store.get(gone.id)).toBeNull();
    expect((await store.list()).items).toEqual([]);
    expect(await store.sweep({ grace: '1m' })).toEqual({ references: 1, blobs: 0, bytes: 0 });
    time.now += 60_000;
    expect(await store.sweep({ grace: '1m' })).toEqual({ references: 0, blobs: 1, bytes: 6 });
    expect(Buffer.from((await tenant.get(kept.id))!).toString()).toBe('shared');
    expect(await store.get(kept.id)).toBeNull();
  });
});

describe('wrong contents', () => {
  const { artifacts } = memoryStore();

  it.each([
    [5, 'not 5'],
    [true, 'not true'],
    [undefined, 'not null'],
    [null, 'not null'],
    [[], 'not a value of type array'],
    [new Uint8Array(1), 'not a value of type object'],
  ])('of texts are refused with what was passed: %s', async (text, shown) => {
    await expect(artifacts.putText(text as never)).rejects.toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', field: 'text', message: `text must be well-formed Unicode text, ${shown}` },
    });
  });

  it('of texts that are not well-formed are rejected without showing them', async () => {
    await expect(artifacts.putText('secret \ud800')).rejects.toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', field: 'text', message: 'text must be well-formed Unicode text' },
    });
  });

  it.each([
    ['text', 'not "text"'],
    [undefined, 'not null'],
    [new ArrayBuffer(1), 'not a value of type object'],
  ])('of bytes are refused with what was passed: %s', async (bytes, shown) => {
    await expect(artifacts.putBytes(bytes as never)).rejects.toMatchObject({
      ...{ code: 'INVALID_ARGUMENT', field: 'bytes', message: `bytes must be a Uint8Array, ${shown}` },
    });
  });
});
