/** Errors of S3 name the remedy, and contain no secrets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { S3Proxy } from '../../../faults/s3-proxy.ts';
import { FULL_AFTER, S3_KEYS } from '../../../scripts/servers/ceph.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { type S3Options, s3Bytes, s3Target } from '../src/index.ts';
import { newBucket, WITHOUT_S3 } from './server.ts';

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Returns the errors of a put, a read and a list with these options. */
async function errorsOf(options: S3Options): Promise<{ code: string; message: string }[]> {
  const target = s3Target({ retryForMs: 500, ...options });
  const calls = [
    target.put('archive/name', once('content')),
    target.get('archive/name'),
    Array.fromAsync(target.list('archive/')),
  ];
  const errors = await Promise.all(
    calls.map((call) =>
      call.then(
        () => expect.fail('no error'),
        (error) => error,
      ),
    ),
  );
  target.close();
  for (const { message } of errors)
    for (const { secretAccessKey } of Object.values(S3_KEYS)) expect(message).not.toContain(secretAccessKey);
  return errors;
}

describe.skipIf(WITHOUT_S3)('An error of S3 names the remedy', () => {
  let proxy: S3Proxy;
  let options: S3Options;
  beforeAll(async () => {
    proxy = await S3Proxy.before(offeredUrl('s3')!);
    options = await newBucket({ endpoint: proxy.url });
  });
  afterAll(() => proxy?.close());

  it('about a wrong secret and an unknown key', async () => {
    const wrong = { ...S3_KEYS.tidemark, secretAccessKey: 'not-the-secret' };
    for (const { code, message } of await errorsOf({ ...options, credentials: wrong })) {
      expect(code).toBe('STORAGE_ERROR');
      expect(message).toMatch(/secret for the bucket \S+ is wrong: check AWS_SECRET_ACCESS_KEY.*SignatureDoesNotMatch/);
      expect(message).not.toContain('not-the-secret');
    }
    const unknown = { ...S3_KEYS.tidemark, accessKeyId: 'UNKNOWN' };
    for (const { message } of await errorsOf({ ...options, credentials: unknown }))
      expect(message).toMatch(/does not know the access key.*AWS_ACCESS_KEY_ID/);
  });

  it('about a missing bucket', async () => {
    for (const { code, message } of await errorsOf({ ...options, url: 's3://no-such-bucket-here/x' })) {
      expect(code).toBe('STORAGE_ERROR');
      expect(message).toMatch(/bucket no-such-bucket-here does not exist: create it/);
    }
  });

  it('about a bucket of someone else', async () => {
    for (const { code, message } of await errorsOf({ ...options, credentials: S3_KEYS.full })) {
      expect(code).toBe('STORAGE_ERROR');
      expect(message).toMatch(/do not permit s3:(PutObject|GetObject|ListBucket) on s3:\/\/.*policy/);
    }
  });

  it('about a full quota', async () => {
    const full = s3Target(
      await newBucket({ user: 'full', bucket: 'full' }).catch(() => ({
        ...options,
        url: 's3://full/tests',
        credentials: S3_KEYS.full,
      })),
    );
    const name = () => `archive/${crypto.randomUUID()}`;
    let failure: { code?: string; message?: string } = {};
    for (let at = 0; at <= FULL_AFTER && !failure.code; at++)
      await full.put(name(), once('content')).catch((error) => (failure = error));
    expect(failure.code).toBe('STORAGE_FULL');
    expect(failure.message).toMatch(/no room .*raise the quota/);
    full.close();
  });

  it('about an expired session, after reading the keys again', async () => {
    proxy.inject({ fault: { status: 400, code: 'ExpiredToken' }, times: 1_000 });
    for (const { code, message } of await errorsOf(options)) {
      expect(code).toBe('STORAGE_ERROR');
      expect(message).toMatch(/session token .* has expired: sign in again/);
    }
    proxy.heal();
    proxy.inject({ fault: { status: 400, code: 'ExpiredToken' } });
    let reads = 0;
    const credentials = async () => ({ ...S3_KEYS.tidemark, n: reads++ });
    const target = s3Target({ ...options, credentials });
    await target.put('archive/renewed', once('content'));
    expect(reads).toBe(2);
    target.close();
  });

  it('about a region, a clock, an archived object and a KMS key', async () => {
    const advice: [status: number, code: string, RegExp][] = [
      [301, 'PermanentRedirect', /another region: add its region to the URL/],
      [403, 'RequestTimeTooSkewed', /clock of this machine/],
      [403, 'InvalidObjectState', /archive class/],
      [400, 'KMS.DisabledException', /KMS key/],
      [501, 'NotImplemented', /lacks something that Tidemark needs/],
    ];
    for (const [status, code, pattern] of advice) {
      proxy.inject({ fault: { status, code }, times: 1_000 });
      for (const error of await errorsOf(options))
        expect(error).toMatchObject({ code: 'STORAGE_ERROR', message: expect.stringMatching(pattern) });
      proxy.heal();
    }
  });

  it('about missing keys', async () => {
    const credentials = async () => {
      throw Object.assign(new Error('Could not load credentials from any providers'), {
        name: 'CredentialsProviderError',
      });
    };
    for (const { code, message } of await errorsOf({ ...options, credentials })) {
      expect(code).toBe('STORAGE_ERROR');
      expect(message).toMatch(/set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
    }
  });

  it('about a server that cannot be reached', async () => {
    for (const { code } of await errorsOf({ ...options, endpoint: 'http://127.0.0.1:9' }))
      expect(code).toBe('UNAVAILABLE');
  });

  it('in the findings of doctor', async () => {
    const finding = async (given: S3Options) => {
      const bytes = s3Bytes({ retryForMs: 500, ...given });
      const [bucket] = await bytes.examine({ deadline: Date.now() + 5_000 });
      await bytes.close();
      return bucket;
    };
    expect(await finding(options)).toMatchObject({ check: 's3: bucket', status: 'ok' });
    const missing = await finding({ ...options, url: 's3://no-such-bucket-here' });
    expect(missing).toMatchObject({ status: 'fail', message: expect.stringContaining('create it') });
  });
});

describe('Options', () => {
  it('reject a URL with keys, an unknown option and a bad value by name, and show no secret', () => {
    const bad: [S3Options | string, string][] = [
      ['s3://KEY:SECRET@bucket/prefix', 'url'],
      ['https://bucket/prefix', 'url'],
      ['s3://', 'url'],
      ['s3://bucket/a//b', 'url'],
      ['s3://bucket/../other', 'url'],
      ['s3://bucket?secretAccessKey=SECRET', 'url'],
      ['s3://bucket?endpoint=ftp://host', 'endpoint'],
      ['s3://bucket?encryption=rot13', 'encryption'],
      ['s3://bucket?kmsKeyId=k', 'kmsKeyId'],
      ['s3://bucket?partBytes=1000', 'partBytes'],
      [{ url: 's3://bucket', region: '' }, 'region'],
    ];
    for (const [options, field] of bad) {
      let error: { code?: string; field?: string; message?: string } = {};
      try {
        s3Bytes(options);
      } catch (thrown) {
        error = thrown as typeof error;
      }
      expect([error.code, error.field], JSON.stringify(options)).toEqual(['INVALID_ARGUMENT', field]);
      expect(error.message).not.toContain('SECRET');
    }
  });

  it('are read from the URL', async () => {
    const bytes = s3Bytes('s3://bucket/a/b/?region=eu-central-1&encryption=aws:kms&kmsKeyId=key');
    expect(bytes.location).toBe('s3://bucket/a/b');
    await bytes.close();
  });
});
