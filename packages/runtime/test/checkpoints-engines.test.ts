/** Checkpoints on every engine(RUN-23): a store that has grown matches them, and a different database does not. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { createCheckpointer, verifyCheckpoints } from '../src/checkpoints/index.ts';
import { altered } from './altered.ts';
import { ENGINES } from './engines.ts';
import { openStore } from './stores.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const AVAILABLE = new Set<string>(['sqlite', ...neededServers()]);
const engines = ['memory', ...Object.keys(ENGINES).filter((name) => AVAILABLE.has(name))];

async function newFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-checkpoints-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return join(directory, 'checkpoints.jsonl');
}

async function append(store: Store, tenantId: string, runId: string, events: number): Promise<void> {
  for (let n = 0; n < events; n++) await store.forTenant(tenantId).runs.handle(runId).append('Progress', { n });
}

/** Returns the store as an intruder left it: without tombstones, or with another time of every event. */
function tampered(store: Store, change: 'time' | 'tombstones'): Store {
  if (change === 'tombstones')
    return altered(store, { admin: () => ({ listRemovedRuns: async () => ({ items: [] }) }) });
  return altered(store, {
    runs: (runs) => ({
      async *exportRun(...args) {
        for await (const part of runs.exportRun(...args)) {
          const events = part.events.map((event) => ({ ...event, persistedAt: '2020-01-01T00:00:00.000Z' }));
          yield { ...part, events };
        }
      },
    }),
  });
}

describe.each(engines)('checkpoints on %s', (engine) => {
  it('are kept in a run as in a file, where one of two programs is rejected', { timeout: 60_000 }, async () => {
    const [store, other] = [await openStore(engine), await openStore(engine)];
    const run = { store: other, runId: 'checkpoints' };
    const take = () => createCheckpointer({ store, run, key: privateKey }).checkpoint();
    const check = () => verifyCheckpoints({ store, run, publicKey });
    await expect(check()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    for (const runId of ['grown', 'deleted']) await append(store, 'acme', runId, 2);
    expect(await take()).toMatchObject({ number: 1, runs: 2, changed: 2 });
    await append(store, 'acme', 'grown', 1);
    await store.forTenant('acme').runs.deleteRun('deleted');
    const both = await Promise.allSettled([take(), take()]);
    const reasons = both.flatMap((it) => (it.status === 'rejected' ? [it.reason.code] : []));
    expect(reasons.every((code) => code === 'CONFLICT')).toBe(true);
    // Both succeed if one came after the other, or if they were the same checkpoint.
    const numbers = both.flatMap((it) => (it.status === 'fulfilled' ? [it.value.number] : []));
    const { last, ...checked } = await check();
    expect(checked).toMatchObject({ ok: true, runs: 2, removed: 1 });
    expect(last.number).toBe(Math.max(...numbers));
    await other.runs.handle('checkpoints').append('Note');
    await expect(check()).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  });

  it('reveal changed times and removals without a tombstone', { timeout: 60_000 }, async () => {
    const store = await openStore(engine);
    const file = await newFile();
    for (const runId of ['changed', 'vanished']) await append(store, 'acme', runId, 1);
    await createCheckpointer({ store, file, key: privateKey }).checkpoint();
    await store.forTenant('acme').runs.deleteRun('vanished');
    const found = async (change: 'time' | 'tombstones') => {
      const { ok, problems } = await verifyCheckpoints({ store: tampered(store, change), file, publicKey });
      return [ok, problems.map(({ runId, kind }) => [runId, kind])];
    };
    expect(await found('time')).toEqual([false, [['changed', 'time']]]);
    expect(await found('tombstones')).toEqual([false, [['vanished', 'missing']]]);
  });

  it('match a store that has grown and has tombstones', { timeout: 60_000 }, async () => {
    const store = await openStore(engine);
    const file = await newFile();
    const take = () => createCheckpointer({ store, file, key: privateKey }).checkpoint();
    const check = () => verifyCheckpoints({ store, file, publicKey });
    for (const runId of ['grown', 'deleted', 'archived', 'same']) await append(store, 'acme', runId, 3);
    await append(store, 'bolt', 'same', 1);
    expect(await take()).toMatchObject({ number: 1, runs: 5, changed: 5, damaged: [] });
    await append(store, 'acme', 'grown', 2);
    const { runs } = store.forTenant('acme');
    await runs.deleteRun('deleted');
    await runs.archiveRun('archived', { location: 'cold/1', expectedSeq: 3 });
    expect(await check()).toMatchObject({ ok: true, runs: 5, removed: 2, problems: [] });
    expect(await take()).toMatchObject({ number: 2, runs: 5, changed: 3 });
    expect(await take()).toMatchObject({ number: 3, runs: 5, changed: 0 });
    expect(await check()).toMatchObject({ ok: true, last: { number: 3 } });
  });

  it('reveal that the database was replaced', { timeout: 60_000 }, async () => {
    const [store, other] = [await openStore(engine), await openStore(engine)];
    const file = await newFile();
    for (const runId of ['cut', 'missing', 'replaced']) await append(store, 'acme', runId, 3);
    await createCheckpointer({ store, file, key: privateKey }).checkpoint();
    await append(other, 'acme', 'cut', 2);
    await append(other, 'acme', 'replaced', 4);
    const { ok, problems } = await verifyCheckpoints({ store: other, file, publicKey });
    const found = problems.map(({ tenantId, runId, kind, runSeq }) => [tenantId, runId, kind, runSeq]).toSorted();
    expect([ok, found]).toEqual([false, ['cut', 'missing', 'replaced'].map((kind) => ['acme', kind, kind, 3])]);
  });
});
