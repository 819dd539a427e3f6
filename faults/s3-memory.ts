/**
 * Measures memory while a large artifact is streamed into a bucket and out of it, and while many events are archived to
 * a bucket and restored. Fails if the heap grows by 100 MB or more. `--megabytes 1024 --events 1000000`.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { withArtifactBytes } from '@tidemark/core/engine';
import { createArchiver } from '@tidemark/runtime';
import { s3Bytes } from '@tidemark/s3';
import { sqliteStore } from '@tidemark/sqlite';
import { newBucketUrl, openArchive } from './archive-location.ts';

const { values } = parseArgs({
  options: { megabytes: { type: 'string', default: '1024' }, events: { type: 'string', default: '1000000' } },
});

const MB = 1024 * 1024;
const MAX_GROWTH = 100 * MB;
const RUN_EVENTS = 1_000;
const BATCH = 500;
const LIMIT = { timeoutMs: 3_600_000 };

const problems: string[] = [];

/** Runs a step, and prints how much the heap and the process grew at most while it ran. */
async function measured(title: string, step: () => Promise<unknown>): Promise<void> {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const peak = { ...before };
  const timer = setInterval(() => {
    const now = process.memoryUsage();
    for (const name of ['heapUsed', 'arrayBuffers', 'rss'] as const) peak[name] = Math.max(peak[name], now[name]);
  }, 20);
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await step();
  clearInterval(timer);
  const { user, system } = process.cpuUsage(cpu);
  const grown = (name: 'heapUsed' | 'arrayBuffers' | 'rss') => Math.round((peak[name] - before[name]) / MB);
  console.log(
    `${title}: ${((performance.now() - began) / 1000).toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s CPU, heap +${grown('heapUsed')} MB, buffers +${grown('arrayBuffers')} MB, process +${grown('rss')} MB`,
  );
  if (peak.heapUsed - before.heapUsed >= MAX_GROWTH)
    problems.push(`${title}: the heap grew by ${grown('heapUsed')} MB`);
}

async function measureArtifact(store: Store, megabytes: number): Promise<void> {
  const block = Buffer.alloc(MB);
  for (let at = 0; at < MB; at += 65_536) crypto.getRandomValues(block.subarray(at, at + 65_536));
  const hash = createHash('sha256');
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < megabytes; n++) {
      block.writeUInt32LE(n);
      hash.update(block);
      yield block;
    }
  }
  let id = '';
  await measured(`${megabytes} MB in`, async () => {
    id = (await store.artifacts.putStream(source(), { ttl: null, ...LIMIT })).id;
  });
  const read = createHash('sha256');
  await measured(`${megabytes} MB out`, async () => {
    for await (const chunk of (await store.artifacts.getStream(id, LIMIT))!) read.update(chunk);
  });
  if (read.digest('hex') !== hash.digest('hex')) problems.push('the artifact has changed');
  await store.artifacts.delete(id);
}

async function measureArchive(store: Store, location: string, events: number): Promise<void> {
  const runs = Math.ceil(events / RUN_EVENTS);
  for (let run = 0; run < runs; run++) {
    const payload = { tool: 'search', answer: 'a short answer of the tool, as agents get it', run };
    const handle = store.runs.handle(`run-${run}`);
    await handle.append('RunStarted', payload);
    const [first] = await store.runs.fetchEvents(`run-${run}`);
    const { runSeq: _, persistedAt: __, idempotencyKey: ___, ...event } = first!;
    const steps = Array.from({ length: RUN_EVENTS - 2 }, (_, n) => ({
      ...event,
      eventId: crypto.randomUUID(),
      eventType: 'Progress',
      payload: { ...payload, n },
    }));
    for (let at = 0; at < steps.length; at += BATCH) await store.runs.appendEvents(steps.slice(at, at + BATCH), LIMIT);
    await handle.append('RunCompleted');
  }
  const target = openArchive(location);
  const archiver = createArchiver({ store, target });
  await measured(`${events} events archived`, async () => {
    const report = await archiver.archiveRuns({});
    if (report.events !== runs * RUN_EVENTS) problems.push(`only ${report.events} events were archived`);
  });
  await measured(`${events} events restored`, async () => {
    for (let run = 0; run < runs; run++) await archiver.restoreRun(`run-${run}`, { tenantId: 'default' });
  });
  for (const run of [0, runs - 1])
    if (!(await store.runs.verify(`run-${run}`)).ok) problems.push(`run-${run} has changed`);
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-s3-memory-'));
const { location, stop } = await newBucketUrl();
const retention = { maxArtifactBytes: Number.POSITIVE_INFINITY, maxUnscopedBytes: Number.POSITIVE_INFINITY };
const plain = await sqliteStore({ path: join(folder, 'store.db'), artifacts: retention, timeoutMs: 600_000 });
const store = withArtifactBytes(plain, s3Bytes(location))!;
try {
  if (Number(values.megabytes) > 0) await measureArtifact(store, Number(values.megabytes));
  if (Number(values.events) > 0) await measureArchive(store, location, Number(values.events));
} finally {
  await store.close();
  await stop();
  rmSync(folder, { recursive: true });
}
console.log(`s3-memory: ${problems.length} problems`);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
