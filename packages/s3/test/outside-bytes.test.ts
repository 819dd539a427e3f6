/**
 * Artifacts with their bytes outside the engine (AGT-11): sweeps, stalled and killed writers, and bytes that the engine
 * stored itself.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store, TidemarkError } from '@tidemark/core';
import { SYSTEM_TENANT, withArtifactBytes } from '@tidemark/core/engine';
import { sqliteStore } from '@tidemark/sqlite';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { MemoryBytes } from './memory-bytes.ts';

const HOUR = 3_600_000;

/** Opens the engine of a test; with a file, any number of times. */
interface Engine {
  open(): Promise<Store>;
  /** Moves the clock of records and bytes, where the engine's clock can be moved. */
  pass(ms: number): void;
}

function inMemory(): Engine {
  let now = Date.now();
  const store = memoryStore({ clock: () => now });
  const pass = (ms: number) => {
    now += ms;
  };
  return { open: async () => store, pass };
}

const text = async (store: Store, id: string) => {
  const bytes = await store.artifacts.get(id);
  return bytes && new TextDecoder().decode(bytes);
};

/** A byte store whose uploads wait, after their last byte, until they are released. */
class SlowBytes extends MemoryBytes {
  beforeStored: () => Promise<void> = async () => {};
  afterStored: () => Promise<void> = async () => {};

  override async put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    await this.beforeStored();
    await super.put(name, chunks);
    await this.afterStored();
  }
}

describe('Bytes outside the engine', () => {
  let engine: Engine;
  let bytes: SlowBytes;
  let plain: Store;
  let store: Store;
  beforeEach(async () => {
    engine = inMemory();
    bytes = new SlowBytes();
    plain = await engine.open();
    store = withArtifactBytes(plain, bytes)!;
  });

  it('are separate objects under the prefix of their tenant, and the engine has a pointer', async () => {
    const { id, sizeBytes } = await store.forTenant('acme/../x').artifacts.putText('hello');
    expect(sizeBytes).toBe(5);
    const [[name, content]] = [...bytes.objects] as [[string, Uint8Array]];
    expect(name).toMatch(/^artifacts\/acme%2f%2e%2e%2fx\/[0-9a-f-]{36}$/);
    expect(Buffer.from(content).toString()).toBe('hello');
    await expect(plain.forTenant('acme/../x').artifacts.get(id)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  });

  it('are swept when no reference needs them, and never while one does', async () => {
    const { id } = await store.artifacts.putText('kept', { ttl: null });
    const gone = await store.artifacts.putText('gone', { ttl: null });
    await store.artifacts.delete(gone.id);
    engine.pass(2 * HOUR);
    expect(await store.artifacts.sweep({ grace: '1h' })).toEqual({ references: 0, blobs: 1, bytes: 4 });
    expect(bytes.objects.size).toBe(1);
    expect(await text(store, id)).toBe('kept');
    expect(await plain.forTenant(SYSTEM_TENANT).kv.count('')).toMatchObject({ count: 1 });
  });

  it('survive sweeps while they are uploaded, even if the upload takes long', async () => {
    bytes.afterStored = async () => {
      for (let sweeps = 0; sweeps < 3; sweeps++) {
        engine.pass(HOUR / 4);
        await store.artifacts.sweep({ grace: 1 });
      }
    };
    const { id } = await store.artifacts.putText('slow', { ttl: null });
    engine.pass(2 * HOUR);
    await store.artifacts.sweep({ grace: 1 });
    expect(await text(store, id)).toBe('slow');
  });

  it('are not referred to once a sweep has taken them from a stalled writer', async () => {
    bytes.afterStored = async () => {
      bytes.afterStored = async () => {};
      engine.pass(2 * HOUR);
      await store.artifacts.sweep({ grace: 1 });
      expect(bytes.objects.size, 'the sweep takes an upload without a sign of life').toBe(0);
    };
    // The put uploads the bytes again, because it has all of them.
    const { id } = await store.artifacts.putText('stalled', { ttl: null });
    expect(await text(store, id)).toBe('stalled');
    async function* stream() {
      yield Buffer.from('streamed');
    }
    bytes.afterStored = async () => {
      engine.pass(2 * HOUR);
      await store.artifacts.sweep({ grace: 1 });
    };
    await expect(store.artifacts.putStream(stream(), { ttl: null })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect((await store.artifacts.list()).items.map((it) => it.id)).toEqual([id]);
    expect(await text(store, id)).toBe('stalled');
  });

  it('of a writer that was killed at any step are removed by a sweep', async () => {
    const stuck = new Promise<never>(() => {});
    bytes.beforeStored = () => stuck;
    void store.artifacts.putText('killed before', { timeoutMs: 50 }).catch(() => {});
    await expect.poll(() => plain.forTenant(SYSTEM_TENANT).kv.count('')).toMatchObject({ count: 1 });
    bytes.beforeStored = async () => {};
    bytes.afterStored = () => stuck;
    void store.artifacts.putText('killed after', { timeoutMs: 50 }).catch(() => {});
    await expect.poll(() => bytes.objects.size).toBe(1);
    bytes.afterStored = async () => {};
    engine.pass(HOUR / 2);
    await store.artifacts.sweep({ grace: 1 });
    expect(bytes.objects.size, 'it may still be alive').toBe(1);
    engine.pass(HOUR);
    await store.artifacts.sweep({ grace: 1 });
    expect(bytes.objects.size).toBe(0);
    expect(await plain.forTenant(SYSTEM_TENANT).kv.count('')).toMatchObject({ count: 0 });
  });

  it('of a failed upload are removed, unless the upload may still arrive', async () => {
    bytes.afterStored = () => Promise.reject(new TidemarkError('STORAGE_FULL', 'full'));
    await expect(store.artifacts.putText('full')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(bytes.objects.size).toBe(0);
    bytes.afterStored = () => Promise.reject(new TidemarkError('OUTCOME_UNKNOWN', 'lost'));
    await expect(store.artifacts.putText('lost')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(bytes.objects.size).toBe(1);
    engine.pass(2 * HOUR);
    bytes.afterStored = async () => {};
    await store.artifacts.sweep({ grace: 1 });
    expect(bytes.objects.size).toBe(0);
  });

  it('that a crashed sweep has marked are removed by the next', async () => {
    const { id } = await store.artifacts.putText('marked', { ttl: null });
    await store.artifacts.delete(id);
    engine.pass(2 * HOUR);
    const remove = bytes.remove.bind(bytes);
    bytes.remove = () => Promise.reject(new TidemarkError('UNAVAILABLE', 'not now'));
    await expect(store.artifacts.sweep()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    bytes.remove = remove;
    const again = await store.artifacts.putText('marked', { ttl: null });
    await store.artifacts.sweep();
    expect(bytes.objects.size).toBe(1);
    expect(await text(store, again.id)).toBe('marked');
  });

  it('are removed with their session and with their tenant, at once', async () => {
    const { artifacts, admin } = store.forTenant('acme');
    await artifacts.putText('of a session', { scope: { sessionId: 's' } });
    const both = await artifacts.putText('of both', { scope: { sessionId: 's' } });
    await artifacts.putText('of both', { scope: { sessionId: 't' } });
    await store.forTenant('other').artifacts.putText('of both');
    expect(await admin.artifactTotals()).toMatchObject({ items: [{ references: 3, blobs: 2, bytes: 19 }] });
    await admin.eraseSession('s');
    expect(await artifacts.get(both.id, { scope: { sessionId: 's' } })).toBe(null);
    expect([...bytes.objects.values()].map((it) => Buffer.from(it).toString())).toEqual(['of both', 'of both']);
    await store.admin.eraseTenant('acme');
    expect([...bytes.objects.keys()]).toEqual([expect.stringMatching(/^artifacts\/other\//)]);
  });

  it('are finished by the next erasure when one was interrupted', async () => {
    const { artifacts, admin } = store.forTenant('acme');
    await artifacts.putText('of a session', { scope: { sessionId: 's' } });
    const remove = bytes.remove.bind(bytes);
    bytes.remove = () => Promise.reject(new TidemarkError('UNAVAILABLE', 'not now'));
    await expect(admin.eraseSession('s')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    bytes.remove = remove;
    await admin.eraseSession('s');
    expect(bytes.objects.size).toBe(0);
  });

  it('that the engine stored itself can still be read, whole or in part, and are still swept', async () => {
    const long = Buffer.alloc(600_000, 'x');
    const inside = await plain.artifacts.putText('inside', { ttl: null });
    const streamed = await plain.artifacts.putBytes(long, { ttl: null });
    expect(await text(store, inside.id)).toBe('inside');
    const part = await store.artifacts.getStream(streamed.id, { start: 299_999, end: 300_004 });
    expect(Buffer.concat(await Array.fromAsync(part!)).toString()).toBe('xxxxx');
    await store.artifacts.delete(inside.id);
    await store.artifacts.delete(streamed.id);
    engine.pass(2 * HOUR);
    expect(await store.artifacts.sweep()).toEqual({ references: 0, blobs: 2, bytes: 600_006 });
  });

  it('cannot be reached with bytes that look like a pointer', async () => {
    const secret = await store.forTenant('acme').artifacts.putText('the secret of acme');
    const [name] = [...bytes.objects.keys()];
    const object = name!.split('/').at(-1);
    const forged = `{"tidemarkObject":1,"object":"../acme/${object}","sha256":"${secret.sha256}","sizeBytes":18}\n0000`;
    const { id } = await plain.forTenant('eve').artifacts.putText(forged);
    expect(await text(store.forTenant('eve'), id)).toBe(forged);
  });

  it('that were altered or cut off fail with CORRUPT_VALUE, even when read in part', async () => {
    const { id } = await store.artifacts.putBytes(Buffer.alloc(600_000, 'x'), { ttl: null });
    const [[name, content]] = [...bytes.objects] as [[string, Uint8Array]];
    content[300_000] = 0;
    await expect(store.artifacts.get(id)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    const read = async (start: number, end: number) =>
      Buffer.concat(await Array.fromAsync((await store.artifacts.getStream(id, { start, end }))!)).length;
    await expect(read(300_100, 300_101)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    expect(await read(0, 10)).toBe(10);
    content[300_000] = 120;
    bytes.objects.set(name, content.subarray(0, 400_000));
    await expect(store.artifacts.get(id)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    bytes.objects.delete(name);
    await expect(store.artifacts.get(id)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  });
});

it('a put of the same bytes on another engine handle leaves one object, and readers of the other finish', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-outside-'));
  const bytes = new MemoryBytes();
  const open = async () => withArtifactBytes(await sqliteStore(join(folder, 'store.db')), bytes)!;
  const [one, two] = [await open(), await open()];
  onTestFinished(async () => {
    await Promise.all([one.close(), two.close()]);
    rmSync(folder, { recursive: true });
  });
  const content = Buffer.alloc(900_000, 'same');
  const first = await one.artifacts.putBytes(content, { ttl: null });
  const reading = (await one.artifacts.getStream(first.id))![Symbol.asyncIterator]();
  await reading.next();
  await Promise.all(
    Array.from({ length: 6 }, (_, at) => (at % 2 ? one : two).artifacts.putBytes(content, { ttl: null })),
  );
  const rest: Uint8Array[] = [];
  for (let next = await reading.next(); !next.done; next = await reading.next()) rest.push(next.value);
  expect(Buffer.concat(rest).length).toBeGreaterThan(600_000);
  for (let sweeps = 0; sweeps < 2; sweeps++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await two.artifacts.sweep({ grace: 1 });
  }
  expect(bytes.objects.size).toBe(1);
  expect(Buffer.from((await two.artifacts.get(first.id))!).equals(content)).toBe(true);
});
