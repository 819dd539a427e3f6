/** Checkpoints reveal what a chain alone cannot: cut tails, replaced runs, vanished runs, changed times (RUN-23). */
import { generateKeyPairSync } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { memoryStore, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHECKPOINT_FORMAT, hashOf, type RunPoint, signedText } from '../src/checkpoints/format.ts';
import { createCheckpointer, createCheckpointReader, verifyCheckpoints } from '../src/checkpoints/index.ts';
import { PointTree } from '../src/checkpoints/point-tree.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
let directory: string;
let file: string;
let store: Store;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidemark-checkpoints-'));
  file = join(directory, 'checkpoints.jsonl');
  store = await sqliteStore(join(directory, 'state.db'));
  for (const tenantId of ['acme', 'bolt'])
    for (const type of ['RunStarted', 'Progress', 'RunCompleted'])
      await store.forTenant(tenantId).runs.handle('order-42').append(type);
  await store.forTenant('acme').runs.handle('order-7').append('RunStarted');
});

afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const take = () => createCheckpointer({ store, file, key: privateKey }).checkpoint();
const check = (of: Store = store) => verifyCheckpoints({ store: of, file, publicKey });

/** Changes the file while the store is closed, then opens it again. */
async function tamper(...statements: string[]): Promise<void> {
  await store.close();
  const database = new DatabaseSync(join(directory, 'state.db'));
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
  for (const statement of statements) database.exec(statement);
  database.close();
  store = await sqliteStore(join(directory, 'state.db'));
}

const OF_ORDER = "run_id = 'order-42' AND tenant_id = 'acme'";

describe('checkpoints', () => {
  it('explain a run that has expired and is not deleted yet', async () => {
    const run = store.forTenant('acme').runs.handle('soon', { expires: { after: '1500ms', status: 'any' } });
    await run.append('RunStarted');
    const { runs } = await take();
    expect(runs).toBe(4);
    await expect.poll(() => run.headSeq(), { timeout: 20_000 }).toBe(0);
    expect(await check()).toMatchObject({ ok: true, runs: 4, removed: 1 });
    expect(await take()).toMatchObject({ runs: 4, changed: 1 });
  });

  it.each(['file', 'run'] as const)('are shown from a %s, with what they cover of a run', async (kind) => {
    const other = memoryStore();
    const at = kind === 'file' ? { file } : { run: { store: other, runId: 'checkpoints' } };
    const reader = createCheckpointReader({ ...at, publicKey });
    const order = { tenantId: 'acme', runId: 'order-42' };
    expect(await reader.read(order)).toEqual({ checkpoint: null, point: null });
    const checkpointer = createCheckpointer({ store, ...at, key: privateKey });
    const first = await checkpointer.checkpoint();
    const { head } = await store.runs.verify('order-42', { tenantId: 'acme' });
    const { checkpoint, point } = await reader.read(order);
    expect([checkpoint?.number, checkpoint?.root, checkpoint?.at]).toEqual([1, first.root, first.at]);
    expect(point).toMatchObject({ life: 1, lastEventSeq: 3, head });
    await store.forTenant('acme').runs.handle('order-8').append('RunStarted');
    expect((await reader.read({ tenantId: 'acme', runId: 'order-8' })).point).toBeNull();
    await checkpointer.checkpoint();
    const [again, later] = await Promise.all([reader.read(order), reader.read({ tenantId: 'acme', runId: 'order-8' })]);
    expect([again.checkpoint?.number, again.point?.lastEventSeq, later.point?.lastEventSeq]).toEqual([2, 3, 1]);
    const stranger = createCheckpointReader({ ...at, publicKey: generateKeyPairSync('ed25519').publicKey });
    await expect(stranger.read(order)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    await other.close();
  });

  it('reproduce the vectors', async () => {
    const text = await readFile(new URL('../vectors/checkpoint-v1.json', import.meta.url), 'utf8');
    const { points, checkpoint, ...expected } = JSON.parse(text);
    const tree = new PointTree();
    tree.set((points as RunPoint[]).toReversed());
    expect(tree.root).toBe(checkpoint.root);
    const whole = { ...checkpoint, format: CHECKPOINT_FORMAT, signature: '' };
    expect([signedText(whole), hashOf(whole)]).toEqual([expected.signedText, expected.sha256]);
  });

  it('accept a store that has grown, and write only what has changed', async () => {
    expect(await take()).toMatchObject({ number: 1, runs: 3, changed: 3, damaged: [] });
    await store.forTenant('acme').runs.handle('order-7').append('RunCompleted');
    await store.forTenant('bolt').runs.deleteRun('order-42');
    expect(await check()).toMatchObject({ ok: true, runs: 3, removed: 1 });
    expect(await take()).toMatchObject({ number: 2, runs: 3, changed: 2 });
    expect(await take()).toMatchObject({ number: 3, runs: 3, changed: 0 });
    expect(await check()).toMatchObject({ ok: true, last: { number: 3 } });
    expect(await check(store.forTenant('acme'))).toMatchObject({ ok: true, runs: 2 });
  });

  it('reveal a cut tail', async () => {
    await take();
    await tamper(
      `DELETE FROM run_events WHERE ${OF_ORDER} AND run_seq = 3`,
      `UPDATE runs SET last_seq = 2, link = (SELECT link FROM run_events WHERE ${OF_ORDER} AND run_seq = 2) WHERE ${OF_ORDER}`,
    );
    expect((await check()).problems).toMatchObject([{ tenantId: 'acme', runId: 'order-42', kind: 'cut', runSeq: 3 }]);
  });

  it('reveal a removal without a tombstone', async () => {
    await take();
    await tamper(`DELETE FROM run_events WHERE ${OF_ORDER}`, `DELETE FROM runs WHERE ${OF_ORDER}`);
    expect((await check()).problems).toMatchObject([{ kind: 'missing' }]);
    // A later checkpoint does not hide it.
    await take();
    expect((await check()).problems).toMatchObject([{ kind: 'missing' }]);
  });

  it('reveal a replaced run, even after a later checkpoint', async () => {
    await take();
    await tamper(`DELETE FROM run_events WHERE ${OF_ORDER}`, `DELETE FROM runs WHERE ${OF_ORDER}`);
    for (const type of ['RunStarted', 'Progress', 'RunFailed'])
      await store.forTenant('acme').runs.handle('order-42').append(type);
    expect((await check()).problems).toMatchObject([{ kind: 'replaced' }]);
    await take();
    expect((await check()).problems).toMatchObject([{ kind: 'replaced' }]);
  });

  it('reveal a changed time of the last event', async () => {
    await take();
    await tamper(
      `UPDATE run_events SET persisted_at = persisted_at + 60000 WHERE ${OF_ORDER} AND run_seq = 3`,
      `UPDATE runs SET updated_at = updated_at + 60000 WHERE ${OF_ORDER}`,
    );
    expect((await check()).problems).toMatchObject([{ kind: 'time', runSeq: 3 }]);
  });

  it('report a damaged run without stopping at it', async () => {
    await take();
    await tamper(`UPDATE run_events SET event_type = 'Forged' WHERE ${OF_ORDER} AND run_seq = 2`);
    expect((await check()).problems).toMatchObject([{ kind: 'damaged' }]);
    await store.forTenant('acme').runs.handle('order-7').append('RunCompleted');
    expect(await take()).toMatchObject({ number: 2, changed: 1 });
  });

  it('need the key that signed, and an unchanged file', async () => {
    await take();
    const other = generateKeyPairSync('ed25519').publicKey;
    await expect(verifyCheckpoints({ store, file, publicKey: other })).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"lastEventSeq":1', '"lastEventSeq":2'));
    await expect(check()).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    expect(() => createCheckpointer({ store, file, key: publicKey })).toThrow(/Ed25519 private key/);
  });

  it.each([privateKey, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string])(
    'are compared with the public key only',
    async (key) => {
      await take();
      const refused = { code: 'INVALID_ARGUMENT', field: 'publicKey' };
      await expect(verifyCheckpoints({ store, file, publicKey: key })).rejects.toMatchObject(refused);
      const text = publicKey.export({ type: 'spki', format: 'pem' }) as string;
      expect(await verifyCheckpoints({ store, file, publicKey: text })).toMatchObject({ ok: true });
    },
  );

  it('must exist to be compared with', async () => {
    await expect(check()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await writeFile(file, '');
    await expect(check()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('continue after an interrupted write', async () => {
    await take();
    await appendFile(file, '{"begin":2}\n{"point":{"tenantId":"ac');
    expect(await check()).toMatchObject({ ok: true, last: { number: 1 } });
    expect(await take()).toMatchObject({ number: 2 });
    expect(await check()).toMatchObject({ ok: true, last: { number: 2 } });
  });

  it('accept only one of two that were written at the same time', async () => {
    const outcomes = await Promise.allSettled([take(), take()]);
    // Two that are written in the same millisecond are the same checkpoint.
    const signatures = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.signature] : []));
    const written = new Set(signatures).size;
    expect(written).toBeGreaterThanOrEqual(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'CONFLICT' });
    expect(await check()).toMatchObject({ ok: true, last: { number: written } });
  });

  it('cover archived runs by their tombstones', async () => {
    const memory = memoryStore();
    await memory.runs.handle('order-1').append('RunStarted');
    await createCheckpointer({ store: memory, file, key: privateKey }).checkpoint();
    await memory.runs.archiveRun('order-1', { location: 'archive/1', expectedSeq: 1 });
    expect(await check(memory)).toMatchObject({ ok: true, removed: 1 });
  });

  it('name the life of a run, and accept a later life after a deletion', async () => {
    await take();
    const { runs } = store.forTenant('acme');
    await runs.deleteRun('order-7');
    await runs.handle('order-7').append('RunStarted', {}, { life: 'new' });
    expect(await check()).toMatchObject({ ok: true, problems: [] });
    await take();
    const points = (await readFile(file, 'utf8')).split('\n').filter((line) => line.includes('"point"'));
    expect(JSON.parse(points.at(-1)!).point).toMatchObject({ runId: 'order-7', life: 2, lastEventSeq: 1 });
    await runs.deleteRun('order-7');
    expect(await check()).toMatchObject({ ok: true, removed: 1 });
    await take();
    expect(await check()).toMatchObject({ ok: true, removed: 1 });
  });

  it('reveal a run in an earlier life than was recorded', async () => {
    const { runs } = store.forTenant('acme');
    await runs.deleteRun('order-7');
    await runs.handle('order-7').append('RunStarted', {}, { life: 'new' });
    await take();
    await tamper("DELETE FROM run_events WHERE run_id = 'order-7'", "DELETE FROM runs WHERE run_id = 'order-7'");
    await store.forTenant('acme').runs.handle('order-7').append('RunStarted');
    const { ok, problems } = await check();
    expect(ok).toBe(false);
    expect(problems).toMatchObject([
      { runId: 'order-7', kind: 'replaced', reason: 'the run is in life 1, before life 2' },
    ]);
  });
});
