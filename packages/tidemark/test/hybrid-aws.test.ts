/** The hybrid store for AWS: DynamoDB, with the bytes of artifacts in a bucket of S3 and pauses on Redis. */
import { randomUUID } from 'node:crypto';
import { ALL_CASES, registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { S3_KEYS } from '../../../scripts/servers/ceph.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { MemoryBytes } from '../../s3/test/memory-bytes.ts';
import { adminOf, newBucket, WITHOUT_S3 } from '../../s3/test/server.ts';
import { open } from '../src/index.ts';

const [dynamodb, redis] = [offeredUrl('dynamodb'), offeredUrl('redis')];
const OPTIONS = { timeoutMs: 20_000 };

/** Returns the URLs of a new store. The prefix of Redis is shared, because its keys contain the tenant. */
function newPlaces() {
  const name = `hybrid-${randomUUID()}`;
  return { default: `${dynamodb}&prefix=${name}`, pauses: `${redis}?prefix=${name}` };
}

async function bucketUrl(): Promise<string> {
  const { url, endpoint } = await newBucket();
  vi.stubEnv('AWS_ACCESS_KEY_ID', S3_KEYS.tidemark.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', S3_KEYS.tidemark.secretAccessKey);
  return `${url}?endpoint=${encodeURIComponent(endpoint!)}`;
}

/** Stores one of each, and reads it back. */
async function useAll(store: Store): Promise<void> {
  await store.runs.handle('r').append('RunStarted');
  const { id } = await store.artifacts.putText('in the bucket', { ttl: null });
  await store.agents.savePlannerState('token', { step: 1 });
  expect(await store.artifacts.get(id)).toEqual(new TextEncoder().encode('in the bucket'));
  expect(await store.agents.loadPlannerState('token')).toEqual({ step: 1 });
  expect(await store.runs.headSeq('r')).toBe(1);
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.skipIf(!dynamodb || !redis)('DynamoDB and Redis, with the bytes of artifacts elsewhere', () => {
  it('are one store', async () => {
    const bytes = new MemoryBytes();
    await using store = await open(newPlaces(), { ...OPTIONS, artifacts: { bytes } });
    expect(store.info.backend).toBe('dynamodb+redis');
    await useAll(store);
    expect(bytes.objects.size).toBe(1);
  });

  it.skipIf(WITHOUT_S3)('open by three URLs with a bucket', async () => {
    const artifacts = await bucketUrl();
    await using store = await open({ ...newPlaces(), artifacts }, OPTIONS);
    await useAll(store);
    const client = adminOf();
    const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
    const { Contents = [] } = await client.send(
      new ListObjectsV2Command({ Bucket: /^s3:..([^/]+)/.exec(artifacts)![1]! }),
    );
    client.destroy();
    expect(Contents).toHaveLength(1);
    const checks = (await store.doctor()).findings.map(({ check }) => check);
    for (const part of ['dynamodb: ', 'redis: ', 's3: '])
      expect(
        checks.some((check) => check.startsWith(part)),
        part,
      ).toBe(true);
  });

  registerConformance({ describe, it: it.concurrent, afterAll }, 'The hybrid store', openUnderTest, {
    cases: ALL_CASES.filter(
      ({ id, closesStore }) => /pause|^artifacts\/(bytes|swept|erasure)/.test(id) && !closesStore,
    ),
  });
});

/** Every handle has its own byte store over the same bytes, like another process. */
async function openUnderTest(): Promise<StoreUnderTest> {
  const places = newPlaces();
  const bytes = new MemoryBytes();
  const openOne = () => open(places, { ...OPTIONS, artifacts: { bytes } });
  return { store: await openOne(), peer: openOne };
}
