/** Stored snapshots are bound to the events they were folded from (RUN-14), and a replaced history is reported. */
import { describe, expect, it } from 'vitest';
import type { StoreAlert } from '../contracts/alerts.ts';
import type { RunSnapshot } from '../contracts/run-state.ts';
import type { RunEngine, StoredSnapshot } from '../engine/runs.ts';
import { memoryStore } from '../memory/store.ts';
import { engineOf } from '../store.ts';
import { boundText, readBound } from './bound-snapshot.ts';

const RUN = { tenantId: 'default', runId: 'r' };
const CALL = { deadline: Number.POSITIVE_INFINITY, tenantId: null };

async function setUp(events = 3) {
  const alerts: StoreAlert[] = [];
  const store = memoryStore({ onAlert: (alert) => void alerts.push(alert) });
  const engine: RunEngine = engineOf(store)!.runs!;
  const handle = store.runs.handle('r');
  await handle.append('RunStarted');
  for (let at = 1; at < events; at++) await handle.append('Progress', { at });
  const load = async () => (await engine.loadSnapshot(RUN, CALL))!;
  /** Stores a changed snapshot with a correct checksum, like a forger who knows the format. */
  const forge = async (change: Partial<RunSnapshot>, link?: string) => {
    const stored: StoredSnapshot = await load();
    const found = readBound(RUN, stored.body, stored);
    if ('problem' in found) throw new Error(found.problem);
    const snapshot = { ...found.snapshot, ...change };
    const body = boundText(RUN, { snapshot, link: link ?? found.link }, stored.rewrites);
    await engine.saveSnapshot(RUN, { ...stored, lastEventSeq: snapshot.lastEventSeq, status: 'FAILED', body }, CALL);
  };
  return { store, runs: store.runs, handle, alerts, load, forge };
}

describe('a bound snapshot', () => {
  it('is distinguished from version 0.1 snapshots and from other text', async () => {
    const { load, runs } = await setUp();
    await runs.refreshSnapshot('r');
    const { lastEventSeq, rewrites, body } = await load();
    const read = (text: string) => readBound(RUN, text, { lastEventSeq, rewrites });
    const { integrity: _, ...plain } = JSON.parse(body);
    expect(read(JSON.stringify(plain))).toMatchObject({ isOld: true, version: plain.version });
    expect(read(JSON.stringify({ ...plain, integrity: null }))).toMatchObject({ isOld: false });
    expect(read('{')).toMatchObject({ problem: 'it is not JSON', isOld: false });
    expect(read(body.replace('RUNNING', 'FAILED'))).toMatchObject({ problem: 'its checksum does not match' });
  });

  it('is returned without its integrity member', async () => {
    const { runs, load } = await setUp();
    const { snapshot } = await runs.refreshSnapshot('r');
    expect(snapshot).not.toHaveProperty('integrity');
    expect(await runs.getSnapshot('r')).toEqual(snapshot);
    expect(JSON.parse((await load()).body)).toHaveProperty('integrity.link');
  });

  it('has a checksum over its run, sequence, rewrites, link and every character of its text', async () => {
    const { runs, load } = await setUp();
    await runs.refreshSnapshot('r');
    const stored = await load();
    expect(readBound(RUN, stored.body, stored)).toHaveProperty('snapshot');
    expect(readBound({ ...RUN, runId: 's' }, stored.body, stored)).toHaveProperty('problem');
    expect(readBound({ ...RUN, tenantId: 's' }, stored.body, stored)).toHaveProperty('problem');
    expect(readBound(RUN, stored.body, { ...stored, lastEventSeq: 4 })).toHaveProperty('problem');
    expect(readBound(RUN, stored.body, { ...stored, rewrites: 1 })).toHaveProperty('problem');
    for (let at = 0; at < stored.body.length; at++) {
      const other = stored.body[at] === 'a' ? 'b' : 'a';
      const changed = stored.body.slice(0, at) + other + stored.body.slice(at + 1);
      expect(readBound(RUN, changed, stored), `character ${at}`).toHaveProperty('problem');
    }
  });

  it('is not used when it has the link of another history, which is reported once', async () => {
    const { runs, handle, forge, alerts } = await setUp();
    await runs.refreshSnapshot('r');
    await forge({ status: 'FAILED' }, 'x'.repeat(32));
    expect((await runs.getSnapshot('r'))?.status).toBe('RUNNING');
    expect(alerts).toMatchObject([{ code: 'HEAD_WENT_BACK', runId: 'r', knownSeq: 3, currentSeq: 3 }]);
    await runs.refreshSnapshot('r');
    await forge({ status: 'FAILED' }, 'x'.repeat(32));
    await handle.append('Progress');
    expect(await runs.projectSnapshot('r')).toMatchObject({ status: 'RUNNING', lastEventSeq: 4 });
    expect(alerts).toHaveLength(1);
  });

  it('is not used when it is ahead of its run', async () => {
    const { runs, forge, alerts } = await setUp();
    await runs.refreshSnapshot('r');
    await forge({ status: 'FAILED', lastEventSeq: 7 });
    expect(await runs.refreshSnapshot('r')).toMatchObject({ folded: 3, snapshot: { status: 'RUNNING' } });
    expect(await runs.getSnapshot('r')).toMatchObject({ status: 'RUNNING', lastEventSeq: 3 });
    expect(alerts).toMatchObject([{ code: 'HEAD_WENT_BACK', knownSeq: 7, currentSeq: 3 }]);
  });

  it('is replaced by verify and by a full refresh when it differs from its events', async () => {
    const { runs, forge } = await setUp();
    await runs.refreshSnapshot('r');
    await forge({ status: 'FAILED' });
    expect(await runs.verify('r')).toMatchObject({
      ok: false,
      snapshot: { ok: false, problem: 'it differs from what its events make', resynced: true },
    });
    expect((await runs.getSnapshot('r'))?.status).toBe('RUNNING');
    await forge({ status: 'FAILED' });
    expect(await runs.refreshSnapshot('r', { full: true })).toMatchObject({ folded: 3 });
    expect((await runs.getSnapshot('r'))?.status).toBe('RUNNING');
    expect(await runs.verify('r')).toMatchObject({ ok: true, snapshot: { runSeq: 3, ok: true } });
  });

  it('counts more invalid events than it lists', async () => {
    const { runs, handle } = await setUp(1);
    for (let at = 0; at < 150; at++) await handle.append('RunResumed');
    expect(await runs.refreshSnapshot('r')).toMatchObject({ invalid: 150, snapshot: { invalidEvents: 150 } });
    expect((await runs.getSnapshot('r'))?.violations).toHaveLength(100);
    await handle.append('RunResumed');
    expect(await runs.refreshSnapshot('r')).toMatchObject({ invalid: 1, snapshot: { invalidEvents: 151 } });
  });
});
