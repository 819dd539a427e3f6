/**
 * A server with a key for each role on any store. `--url sqlite:path`. Prints its URL and keys as JSON, replies to each
 * line on standard input with its measurements, and exits when standard input ends.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { ApiKeys, bearer, createServer } from '@tidemark/server';
import { open } from 'tidemark';
import type { ServerMeasures, ServerRoles } from './server-roles.ts';

const SAMPLE_MS = 200;

const { values } = parseArgs({ options: { url: { type: 'string' } } });
const store = await open(values.url!);
const keys = new ApiKeys(store);
const keyOf = async (tenantId: string | null, scope: 'read' | 'append' | 'admin') => {
  const scopes = scope === 'append' ? (['read', 'append'] as const) : ([scope] as const);
  return (await keys.create({ name: 'fuzz', tenantId, scopes }, { by: 'the fuzz' })).key;
};
const server = createServer({ store, auth: bearer({ keys }), inspector: false });
const url = await server.listen();
const tokens = {
  stranger: null,
  reader: await keyOf('acme', 'read'),
  tenant: await keyOf('acme', 'append'),
  admin: await keyOf('acme', 'admin'),
  operator: await keyOf(null, 'admin'),
};
console.log(JSON.stringify({ url, tokens } satisfies ServerRoles));

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let [heapBytes, residentBytes] = [0, 0];
const sample = () => {
  const { heapUsed, rss } = process.memoryUsage();
  heapBytes = Math.max(heapBytes, heapUsed);
  residentBytes = Math.max(residentBytes, rss);
};
const timer = setInterval(sample, SAMPLE_MS);

for await (const _ of createInterface(process.stdin)) {
  sample();
  const measures: ServerMeasures = {
    delayMs: {
      median: delay.percentile(50) / 1e6,
      p99: delay.percentile(99) / 1e6,
      p999: delay.percentile(99.9) / 1e6,
      most: delay.max / 1e6,
    },
    heapBytes,
    residentBytes,
    heapLimitBytes: getHeapStatistics().heap_size_limit,
  };
  console.log(JSON.stringify(measures));
  delay.reset();
}
clearInterval(timer);
await server.close();
await store.close();
