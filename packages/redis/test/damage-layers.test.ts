/** Damages one value of each layer in Redis, without the store (KV-12, RUN-14). */
import { createHash } from 'node:crypto';
import { createClient, RESP_TYPES } from '@redis/client';
import { expect, it, onTestFinished } from 'vitest';
import { BYTES, checkLayer, fillLayers, LAYERS, type Layer, SICK } from '../../../faults/damage-layers.ts';
import { Layout } from '../src/layout.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 4;
const SPACES = { snapshot: 'snapshots', kv: 'kv', memory: 'memory' } as const;
const FROM: Record<Layer, string> = {
  snapshot: '"lastEventSeq":3',
  kv: 'kv sick',
  memory: 'memory sick',
  artifact: 'sick artifact',
};
const TO: Record<Layer, string> = { ...FROM, snapshot: '"lastEventSeq":2', kv: 'kv sicK', memory: 'memory sicK' };

it.skipIf(WITHOUT_REDIS).each(LAYERS)('damage of one %s affects nothing else', async (layer) => {
  const prefix = newPrefix();
  const store = await openStore(sharedServer(), { prefix, buckets: BUCKETS });
  const client = (await createClient({ url: sharedServer() }).connect()).withTypeMapping({
    [RESP_TYPES.BLOB_STRING]: Buffer,
  });
  onTestFinished(() => client.close());
  await fillLayers(store);
  const layout = new Layout(prefix, BUCKETS);
  if (layer === 'artifact') {
    const sha256 = createHash('sha256').update(BYTES).digest('hex');
    const [key] = await client.keys(`${prefix}:*blob-bytes:default:${sha256}`);
    await client.lSet(key!, 0, Buffer.from(BYTES.toString().replace('sick', 'sicK')));
  } else {
    const name = { space: SPACES[layer], tenantId: 'default', key: SICK };
    const key = layout.record(name);
    const fields = Object.entries((await client.hGetAll(key)) as unknown as Record<string, Buffer>);
    const [field, value] = fields.find(([, bytes]) => bytes.includes(FROM[layer]))!;
    await client.hSet(key, field, value.toString('latin1').replace(FROM[layer], TO[layer]));
  }
  expect(await checkLayer(store, layer)).toEqual([]);
});
