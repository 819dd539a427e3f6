/** `open` and the command line with artifacts and archives in a bucket. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'tidemark';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { S3_KEYS } from '../../../scripts/servers/ceph.ts';
import { tidemark } from '../../cli/test/command-line.ts';
import { MemoryBytes } from './memory-bytes.ts';
import { newBucket, WITHOUT_S3 } from './server.ts';

const home = process.cwd();
let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-s3-')));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true });
});

describe('open', () => {
  it('keeps bytes in a byte store, together with artifact limits', async () => {
    const bytes = new MemoryBytes();
    await using store = await open('sqlite:app.db', { artifacts: { bytes, maxArtifactBytes: 10 } });
    const { id } = await store.artifacts.putText('0123456789');
    expect(bytes.objects.size).toBe(1);
    expect(await store.artifacts.get(id)).toEqual(new TextEncoder().encode('0123456789'));
    await expect(store.artifacts.putText('0123456789+')).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  it('keeps bytes of a composed store in a byte store', async () => {
    const bytes = new MemoryBytes();
    await using store = await open({ default: 'sqlite:app.db', kv: 'memory:' }, { artifacts: { bytes } });
    await store.artifacts.putText('composed');
    expect(bytes.objects.size).toBe(1);
  });

  it('names the option when it rejects other schemes, invalid buckets or stores over HTTP', async () => {
    for (const [artifacts, field] of [
      ['file:/tmp', 'artifacts'],
      ['s3://', 'url'],
      ['s3://bucket?secret=1', 'url'],
    ] as const)
      await expect(open('memory:', { artifacts })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field });
    const composed = { default: 'memory:', artifacts: 's3://bucket/prefix' };
    await expect(open(composed, { artifacts: 's3://other/prefix' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'artifacts',
    });
    await expect(open({ default: 'memory:', artifacts: 's3://' })).rejects.toMatchObject({ field: 'url' });
    const overHttp = open('http://127.0.0.1:9', { artifacts: { bytes: new MemoryBytes() } });
    await expect(overHttp).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'artifacts' });
  });
});

describe.skipIf(WITHOUT_S3)('With a bucket', () => {
  it('open and the command line store, read, archive and restore', async () => {
    const { url, endpoint } = await newBucket();
    const place = `${url}?endpoint=${encodeURIComponent(endpoint!)}`;
    const keys = {
      AWS_ACCESS_KEY_ID: S3_KEYS.tidemark.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_KEYS.tidemark.secretAccessKey,
    };
    Object.assign(process.env, keys);
    try {
      const store = await open('sqlite:app.db', { artifacts: place });
      const { id } = await store.artifacts.putText('in the bucket', { ttl: null });
      await store.runs.handle('r').append('RunCompleted');
      await store.close();
      const run = async (line: string) => {
        const { code, stdout, stderr } = await tidemark(`${line} --store sqlite:app.db`, {
          env: { ...keys, TIDEMARK_ARTIFACTS: place },
        });
        expect(code, stderr).toBe(0);
        return stdout;
      };
      expect(await run(`artifacts get ${id}`)).toContain('in the bucket');
      expect(await run('doctor')).toContain('s3: bucket');
      expect(await run(`archive run r --to ${place} --yes`)).toContain('"runs":1');
      expect(await run(`archive events r --from ${place}`)).toContain('RunCompleted');
      expect(await run(`archive verify --from ${place}`)).toContain('"ok":true');
      expect(await run(`archive restore r --from ${place}`)).toContain('"restored":true');
    } finally {
      for (const name of Object.keys(keys)) delete process.env[name];
    }
  });
});
