/** Long uploads wait in Redis and not in the memory of the process, and leave nothing behind. */
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const CHUNK = 256 * 1024;

async function open() {
  const prefix = newPrefix();
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  const store = await openStore(sharedServer(), { prefix });
  const uploads = () => client.keys(`${prefix}:*blob-upload:*`);
  return { store, client, uploads };
}

const chunkOf = (n: number) => Buffer.alloc(CHUNK, `chunk ${n}`);

describe.skipIf(WITHOUT_REDIS)('a long upload', () => {
  it('holds at most four chunks in memory', async () => {
    const { store, client, uploads } = await open();
    async function* source() {
      for (let n = 0; n < 12; n++) {
        yield chunkOf(n);
        const [key] = await uploads();
        const waiting = key ? await client.lLen(key) : 0;
        expect(n + 1 - waiting, `of ${n + 1} chunks`).toBeLessThanOrEqual(4);
      }
    }
    const { id, sha256 } = await store.artifacts.putStream(source());
    const bytes = await store.artifacts.get(id);
    expect(bytes).toEqual(new Uint8Array(Buffer.concat(Array.from({ length: 12 }, (_, n) => chunkOf(n)))));
    expect((await store.artifacts.putBytes(bytes!)).sha256).toBe(sha256);
    expect(await uploads()).toEqual([]);
  });

  it('leaves nothing when its source fails', async () => {
    const { store, uploads } = await open();
    async function* breaking() {
      for (let n = 0; n < 8; n++) yield chunkOf(n);
      expect(await uploads()).toHaveLength(1);
      throw new Error('the source broke');
    }
    await expect(store.artifacts.putStream(breaking())).rejects.toThrow('the source broke');
    expect(await uploads()).toEqual([]);
    expect((await store.artifacts.list()).items).toEqual([]);
  });

  it.each([
    ['expired', (client: ReturnType<typeof createClient>, key: string) => client.del(key)],
    ['was changed', (client: ReturnType<typeof createClient>, key: string) => client.lSet(key, 1, 'other')],
  ])('stores nothing when its waiting part %s', async (_, harm) => {
    const { store, client, uploads } = await open();
    async function* stalling() {
      for (let n = 0; n < 8; n++) yield chunkOf(n);
      await harm(client as never, (await uploads())[0]!);
    }
    await expect(store.artifacts.putStream(stalling())).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect((await store.artifacts.list()).items).toEqual([]);
  });
});
