/** Downloads that a server redirects to the bucket, for callers who may read the artifact and prefer it. */
import { randomBytes } from 'node:crypto';
import { encryption, memoryStore } from '@tidemark/core';
import { withArtifactBytes } from '@tidemark/core/engine';
import { createServer, type ServerOptions } from '@tidemark/server';
import { open, type Store } from 'tidemark';
import { describe, expect, it, onTestFinished } from 'vitest';
import { s3Bytes } from '../src/index.ts';
import { newBucket, WITHOUT_S3 } from './server.ts';

const PREFERS = { prefer: 'redirect' };

async function serve(store: Store, options: Partial<ServerOptions> = {}): Promise<string> {
  const server = createServer({ store, logger: { info() {}, error() {} }, inspector: false, docs: false, ...options });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return server.listen();
}

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(url, { method, headers, redirect: 'manual' });

describe.skipIf(WITHOUT_S3)('A download', () => {
  it('is redirected to the bucket only where the server allows it and the caller prefers it', async () => {
    const store = withArtifactBytes(memoryStore(), s3Bytes(await newBucket()))!;
    const url = await serve(store, { redirectDownloadsFor: '2s' });
    const { id } = await store.artifacts.putText('<script>', { filename: 'ü "1".html', mimeType: 'text/html' });
    const path = `${url}/v1/artifacts/${id}`;
    for (const answer of [
      await get(path),
      await get(path, { ...PREFERS, range: 'bytes=0-0' }),
      await get(path, PREFERS, 'HEAD'),
    ])
      expect([200, 206]).toContain(answer.status);
    const redirected = await get(path, PREFERS);
    expect([redirected.status, redirected.headers.get('cache-control')]).toEqual([307, 'private, no-store']);
    const location = redirected.headers.get('location')!;
    const download = await fetch(location);
    expect(await download.text()).toBe('<script>');
    expect(download.headers.get('content-disposition')).toMatch(
      /^attachment; filename\*=UTF-8''%C3%BC%20%221%22\.html$/,
    );
    expect((await get(`${url}/v1/artifacts/unknown`, PREFERS)).status).toBe(404);
    const elsewhere = await get(`${path}?scope=${encodeURIComponent('{"sessionId":"another"}')}`, PREFERS);
    expect(elsewhere.status).toBe(404);
    await expect.poll(async () => (await fetch(location)).status).toBe(403);
  });

  it('is never redirected without the option, with a codec, and when the engine has the bytes', async () => {
    const options = await newBucket();
    const keys = { current: 'k', keys: { k: randomBytes(32) } };
    const stores: [Store, Partial<ServerOptions>][] = [
      [withArtifactBytes(memoryStore(), s3Bytes(options))!, {}],
      [withArtifactBytes(memoryStore({ codec: encryption(keys) }), s3Bytes(options))!, { redirectDownloadsFor: '1m' }],
      [await open('memory:'), { redirectDownloadsFor: '1m' }],
    ];
    for (const [store, more] of stores) {
      const url = await serve(store, more);
      const { id } = await store.artifacts.putText('plain');
      const answer = await get(`${url}/v1/artifacts/${id}`, PREFERS);
      expect([answer.status, await answer.text()]).toEqual([200, 'plain']);
    }
  });
});
