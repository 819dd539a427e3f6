/**
 * The headers with which S3 is asked to encrypt, as the proxy receives them. The proxy refuses every request, so these
 * tests need no server; Ceph's gateway encrypts only over TLS and with a key server.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { S3Proxy } from '../../../faults/s3-proxy.ts';
import { s3Bytes, s3Target } from '../src/index.ts';

const PART = 5 * 1024 * 1024;
const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/one';
const NAME = 'x-amz-server-side-encryption';

async function* chunksOf(bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; at += PART) yield new Uint8Array(Math.min(PART, bytes - at));
}

/** Puts an object of a size, and returns the request that creates it and its headers. */
async function creationOf(query: string, size: number, as: 'artifact' | 'pack' = 'artifact') {
  const proxy = await S3Proxy.before('http://127.0.0.1:9');
  onTestFinished(() => proxy.close());
  proxy.inject({ fault: { status: 403, code: 'AccessDenied' }, times: Number.POSITIVE_INFINITY });
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const options = { url: `s3://bucket/app?${query}`, endpoint: proxy.url, credentials, partBytes: PART };
  const place = as === 'pack' ? s3Target(options) : s3Bytes(options);
  onTestFinished(() => void place.close());
  const put = place.put('name', chunksOf(size), { deadline: Date.now() + 30_000 });
  await expect(put).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  const at = proxy.seen.findIndex((line) => /^(PUT|POST)/.test(line));
  return { line: proxy.seen[at]!, headers: proxy.headers[at]! };
}

function encryptionOf(headers: IncomingHttpHeaders): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(NAME)));
}

describe.each([
  ['whole', 1_000, /^PUT [^?]*name/],
  ['in parts', 2 * PART + 1, /^POST [^?]*name\?uploads/],
] as const)('An object that is stored %s', (_, size, request) => {
  it.each([
    ['encryption=AES256', { [NAME]: 'AES256' }],
    ['encryption=aws:kms', { [NAME]: 'aws:kms' }],
    [`encryption=aws:kms&kmsKeyId=${encodeURIComponent(KEY)}`, { [NAME]: 'aws:kms', [`${NAME}-aws-kms-key-id`]: KEY }],
    ['encryption=aws:kms:dsse', { [NAME]: 'aws:kms:dsse' }],
    ['region=eu-central-1', {}],
  ])('is requested with %s', async (query, expected) => {
    const { line, headers } = await creationOf(query, size);
    expect(line).toMatch(request);
    expect(encryptionOf(headers)).toEqual(expected);
    // The signature covers the headers, so nobody can remove them on the way.
    if (query.startsWith('encryption')) expect(headers.authorization).toContain(NAME);
  });
});

it('A pack of an archive is encrypted in the same way', async () => {
  const { headers } = await creationOf('encryption=aws:kms', 1_000, 'pack');
  expect(encryptionOf(headers)).toEqual({ [NAME]: 'aws:kms' });
});
