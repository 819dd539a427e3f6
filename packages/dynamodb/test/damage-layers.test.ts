/** Changes one value of each layer in its item, without the store (KV-12, RUN-14). */
import { createHash } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { BYTES, checkLayer, fillLayers, LAYERS, type Layer, SICK } from '../../../faults/damage-layers.ts';
import { Client, type Item } from '../src/client.ts';
import { type DynamoDbOptions, dynamodbStore } from '../src/index.ts';
import { joined, recordPartition } from '../src/keys.ts';
import { readSettings } from '../src/options.ts';
import { HIGHEST, LOWEST, readPartition } from '../src/partitions.ts';
import { nameOfField } from '../src/records/record-item.ts';
import { changeItem } from './kit-parts.ts';
import { ownTables, WITHOUT_DYNAMODB } from './servers.ts';

const CHANGES: Record<
  Exclude<Layer, 'artifact'>,
  { space: 'snapshots' | 'kv' | 'memory'; from: string; to: string }
> = {
  snapshot: { space: 'snapshots', from: '"lastEventSeq":3', to: '"lastEventSeq":2' },
  kv: { space: 'kv', from: 'kv sick', to: 'kv sicK' },
  memory: { space: 'memory', from: 'memory sick', to: 'memory sicK' },
};
const LARGE = 'x'.repeat(500_000);

/** Replaces text in a binary value. Returns whether the value contained it. */
function replaceIn(bytes: Uint8Array, from: string, to: string): boolean {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(from);
  if (at !== -1) bytes.set(Buffer.from(to), at);
  return at !== -1;
}

async function change(options: DynamoDbOptions, layer: Layer): Promise<void> {
  if (layer === 'artifact') return changeChunk(options);
  const { space, from, to } = CHANGES[layer];
  await changeItem(options, { space, tenantId: 'default', key: SICK }, (item) => {
    expect(Object.values(item.f!.M!).some(({ B }) => replaceIn(B!, from, to))).toBe(true);
  });
}

async function changeChunk(options: DynamoDbOptions): Promise<void> {
  const client = await Client.open(readSettings(options));
  onTestFinished(() => client.close());
  const sha256 = createHash('sha256').update(BYTES).digest('hex');
  const key = { p: { B: joined('b', 'blobs') }, s: { B: joined('default', sha256) } };
  const blob = await client.get('records', key, {});
  await changeFirst(client, joined('b', 'chunks', 'default', blob!.g!.S!), (item) => {
    expect(replaceIn(item.b!.B!, 'sick', 'sicK')).toBe(true);
  });
}

/** Changes the first item of a partition. */
async function changeFirst(client: Client, partition: Buffer, edit: (item: Item) => void): Promise<void> {
  const range = { from: LOWEST, to: HIGHEST };
  for await (const [item] of readPartition(client, 'records', partition, range, {})) {
    edit(item!);
    return client.putAll('records', [item!], {});
  }
  expect.unreachable('the partition is empty');
}

it.skipIf(WITHOUT_DYNAMODB).each(LAYERS)('damage of one %s affects nothing else', async (layer) => {
  const options = ownTables();
  const store = await dynamodbStore({ ...options, timeoutMs: 30_000 });
  onTestFinished(() => store.close());
  await fillLayers(store);
  await change(options, layer);
  expect(await checkLayer(store, layer)).toEqual([]);
});

it.skipIf(WITHOUT_DYNAMODB)('a record in several items is rejected after damage of one of them', async () => {
  const options = ownTables();
  const store = await dynamodbStore({ ...options, timeoutMs: 30_000 });
  const client = await Client.open(readSettings(options));
  onTestFinished(() => store.close().finally(() => client.close()));
  await store.kv.put('large', { text: LARGE });
  await store.kv.put('small', { text: 'intact' });
  for (const damage of ['value', 'length'] as const) {
    await store.kv.put('large', { text: LARGE });
    await changeFirst(client, recordPartition('x', 'kv', 'default'), ({ b }) => {
      b!.B![damage === 'value' ? 1_000 : 0]! ^= 1;
    });
    await expect(store.kv.get('large')).rejects.toMatchObject({ code: 'CORRUPT_VALUE', field: 'large' });
    expect(await store.kv.scanPage('')).toMatchObject({ items: [{ key: 'small' }], damaged: ['large'] });
    await expect(store.kv.setFields('large', { other: null })).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  }
  await store.kv.put('large', { text: 'again' });
  expect((await store.kv.get('large'))?.fields).toHaveProperty('text');
});

it.skipIf(WITHOUT_DYNAMODB)('a damaged job is skipped by claims and found by doctor --deep', async () => {
  const options = ownTables();
  const store = await dynamodbStore({ ...options, timeoutMs: 30_000 });
  onTestFinished(() => store.close());
  for (const taskId of ['a', 'b']) await store.jobs.enqueue({ taskType: 'mail', taskId });
  const { items } = await store.kv.scanPage('');
  const key = items.find(({ key }) => key.endsWith('a'))!.key;
  await changeItem(options, { space: 'kv', tenantId: 'default', key }, ({ f }) => {
    f!.M![nameOfField('state')]!.B!.set(Buffer.from('P'), 4);
  });
  const claim = await store.jobs.claim({ taskType: 'mail' }, { worker: 'w' });
  expect(claim?.taskId).toBe('b');
  const report = await store.doctor({ deep: true, timeoutMs: 30_000 });
  expect(report.findings).toContainEqual(expect.objectContaining({ check: 'stored values', status: 'fail' }));
});
