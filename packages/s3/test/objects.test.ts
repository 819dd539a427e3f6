/** Objects on a real S3 server, through a proxy that loses, alters and refuses requests (GEN-8). */
import { AbortMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { isTidemarkError } from '@tidemark/core';
import type { ByteStore } from '@tidemark/core/engine';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { S3Proxy } from '../../../faults/s3-proxy.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { type S3Options, s3Bytes, s3Target } from '../src/index.ts';
import { adminOf, newBucket, WITHOUT_S3 } from './server.ts';

const PART = 5 * 1024 * 1024;
const CHUNK = 256 * 1024;
const WITHIN = () => ({ deadline: Date.now() + 30_000 });

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK);
}

function randomBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

async function read(bytes: ByteStore, name: string, start = 0, end = Number.POSITIVE_INFINITY): Promise<Buffer | null> {
  const stream = await bytes.get(name, start, end, WITHIN());
  return stream && Buffer.concat(await Array.fromAsync(stream));
}

describe.skipIf(WITHOUT_S3)('Objects', () => {
  let proxy: S3Proxy;
  let options: S3Options;
  let bytes: ByteStore;
  const small = randomBytes(3_000);
  const large = randomBytes(2 * PART + 77);

  beforeAll(async () => {
    proxy = await S3Proxy.before(offeredUrl('s3')!);
    options = { ...(await newBucket({ endpoint: proxy.url })), partBytes: PART, retryForMs: 3_000 };
    bytes = s3Bytes(options);
  });
  afterEach(() => {
    proxy.heal();
    proxy.seen.length = 0;
  });
  afterAll(async () => {
    await bytes?.close();
    await proxy?.close();
  });

  async function unfinished(): Promise<number> {
    const client = adminOf();
    const Bucket = /^s3:\/\/([^/]+)/.exec(options.url)![1]!;
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
    for (const { Key, UploadId } of Uploads)
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    client.destroy();
    return Uploads.length;
  }

  it('returns objects of any size unchanged, whole and in part', async () => {
    for (const [name, content] of Object.entries({
      empty: Buffer.alloc(0),
      small,
      part: large.subarray(0, PART),
      large,
    })) {
      await bytes.put(`sizes/${name}`, chunksOf(content), WITHIN());
      expect((await read(bytes, `sizes/${name}`))?.equals(content), name).toBe(true);
    }
    const middle = await read(bytes, 'sizes/large', PART - 10, PART + 10);
    expect(middle?.equals(large.subarray(PART - 10, PART + 10))).toBe(true);
    expect(await read(bytes, 'sizes/none')).toBe(null);
    await bytes.remove('sizes/large', WITHIN());
    await bytes.remove('sizes/large', WITHIN());
    expect(await read(bytes, 'sizes/large')).toBe(null);
  });

  it.each([
    ['small', small],
    ['large', large],
  ])('never replaces an object: %s', async (name, content) => {
    await bytes.put(`once/${name}`, chunksOf(small), WITHIN());
    const put = bytes.put(`once/${name}`, chunksOf(content), WITHIN());
    if (name === 'small') await expect(put).rejects.toMatchObject({ code: 'CONFLICT' });
    // Ceph 16 does not compare the condition when it completes an upload in parts; AWS does.
    else await put.catch((error) => expect(error).toMatchObject({ code: 'CONFLICT' }));
    if (name === 'small') expect((await read(bytes, `once/${name}`))?.equals(small)).toBe(true);
    expect(await unfinished()).toBe(0);
  });

  it('recognises its own object when the reply of a put was lost (GEN-8)', async () => {
    for (const times of [1, 2]) {
      proxy.inject({ fault: 'lose reply', method: 'PUT', url: `lost-${times}`, times });
      await bytes.put(`lost-${times}`, chunksOf(small), WITHIN());
      expect((await read(bytes, `lost-${times}`))?.equals(small)).toBe(true);
    }
    expect(proxy.seen.filter((line) => line.startsWith('HEAD'))).toHaveLength(2);
  });

  it('completes an upload in parts when any of its replies is lost (GEN-8)', async () => {
    const steps = { begin: ['POST', '?uploads'], part: ['PUT', 'partNumber=2'], complete: ['POST', 'uploadId='] };
    for (const [step, [method, url]] of Object.entries(steps)) {
      for (const fault of ['lose reply', 'lose request', { status: 503, code: 'SlowDown' }] as const) {
        proxy.inject({ fault, method: method!, url: url! });
        const name = `parts/${step}-${typeof fault === 'string' ? fault.replace(' ', '-') : 'slow'}`;
        await bytes.put(name, chunksOf(large), WITHIN());
        expect((await read(bytes, name))?.equals(large), name).toBe(true);
      }
    }
    expect(await unfinished(), 'no part is left').toBe(0);
  });

  it('reports OUTCOME_UNKNOWN when no reply arrives, and UNAVAILABLE when nothing was stored (GEN-8)', async () => {
    proxy.inject({ fault: 'lose reply', url: 'never', times: 1_000 });
    const put = bytes.put('never', chunksOf(small), { deadline: Date.now() + 800 });
    await expect(put).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', outcome: 'unknown' });
    const readNever = bytes.get('never', 0, 10, { deadline: Date.now() + 800 });
    await expect(readNever).rejects.toSatisfy((error) => isTidemarkError(error, 'UNAVAILABLE', 'TIMEOUT'));
    proxy.heal();
    proxy.inject({ fault: { status: 503, code: 'SlowDown' }, url: 'slow', times: 1_000 });
    const slow = bytes.put('slow', chunksOf(small), { deadline: Date.now() + 800 });
    await expect(slow).rejects.toSatisfy((error) => isTidemarkError(error, 'OVERLOADED', 'TIMEOUT'));
    proxy.heal();
    proxy.inject({ fault: 'stall', url: 'silent', times: 1_000 });
    const silent = bytes.put('silent', chunksOf(small), { deadline: Date.now() + 500 });
    await expect(silent).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    proxy.heal();
    expect(await read(bytes, 'slow')).toBe(null);
  });

  it('waits while S3 asks for fewer requests', async () => {
    proxy.inject({ fault: { status: 503, code: 'SlowDown' }, times: 3 });
    await bytes.put('patient', chunksOf(small), WITHIN());
    proxy.inject({ fault: { status: 500, code: 'InternalError' }, times: 2 });
    expect((await read(bytes, 'patient'))?.equals(small)).toBe(true);
  });

  it('uploads again a body that was altered on its way', async () => {
    for (const [name, content] of Object.entries({ small, large })) {
      proxy.inject({ fault: 'alter', method: 'PUT', url: `altered-${name}` });
      await bytes.put(`altered-${name}`, chunksOf(content), WITHIN());
      expect((await read(bytes, `altered-${name}`))?.equals(content), name).toBe(true);
    }
  });

  it('continues a read that is cut off, where it was', async () => {
    await bytes.put('cut', chunksOf(large), WITHIN());
    const before = proxy.faults;
    proxy.inject({ fault: 'truncate', method: 'GET', url: 'cut', times: 3 });
    expect((await read(bytes, 'cut'))?.equals(large)).toBe(true);
    expect(proxy.faults - before).toBe(3);
  });

  it('leaves nothing behind when the source of an upload fails, and passes on its error', async () => {
    const failure = new Error('the source broke');
    async function* breaking(after: number): AsyncGenerator<Uint8Array> {
      yield* chunksOf(large.subarray(0, after));
      throw failure;
    }
    for (const after of [1_000, 2 * PART]) {
      await expect(bytes.put('broken', breaking(after), WITHIN())).rejects.toBe(failure);
      expect(await read(bytes, 'broken')).toBe(null);
    }
    expect(await unfinished()).toBe(0);
  });

  it('removes the parts of an upload that a killed writer left behind', async () => {
    proxy.inject({ fault: { status: 403, code: 'AccessDenied' }, method: 'POST', url: 'uploadId=' });
    proxy.inject({ fault: { status: 403, code: 'AccessDenied' }, method: 'DELETE', url: 'killed' });
    await expect(bytes.put('killed', chunksOf(large), WITHIN())).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await bytes.remove('killed', WITHIN());
    expect(await unfinished()).toBe(0);
  });

  it('lists names across pages and keeps hostile names apart', async () => {
    const target = s3Target(options);
    const names = ['a b', 'a%20b', 'a+b', 'ü☂', 'a/b', '%2e', 'x'.repeat(200), "quote's", 'a&b=c?d'].map(
      (it) => `list/${it}`,
    );
    for (const name of names) await target.put(name, chunksOf(Buffer.from(name)));
    const found = (await Array.fromAsync(target.list('list/'))).sort();
    expect(found).toEqual([...names].sort());
    for (const name of names) {
      const content = Buffer.concat(await Array.fromAsync((await target.get(name))!));
      expect(content.toString()).toBe(name);
      expect([await target.delete(name), await target.delete(name)]).toEqual([true, false]);
    }
    target.close();
  });
});
