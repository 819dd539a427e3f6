/**
 * Copies between stores: nothing is lost or changed, an interrupted copy can be run again, and differences are
 * reported.
 */
import { type Store, type TenantPart, TidemarkError } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { copyStore } from '../src/index.ts';
import { altered } from './altered.ts';
import { contentsOf, fill, fillLong } from './copied.ts';
import { memory, openStore } from './stores.ts';

const AVAILABLE = new Set<string>(['memory', 'sqlite', ...neededServers()]);
const PAIRS = [
  ['memory', 'sqlite'],
  ['sqlite', 'postgres'],
  ['postgres', 'redis'],
  ['redis', 'nats'],
  ['nats', 'sqlite'],
  ['postgres', 'memory'],
] as const;

describe('a copy', () => {
  it.each(PAIRS.filter((pair) => pair.every((it) => AVAILABLE.has(it))))(
    'from %s to %s has the same contents, and a second one finds nothing to do',
    { timeout: 120_000 },
    async (source, target) => {
      const from = await openStore(source);
      const to = await openStore(target);
      const { pauses } = await fill(from);
      const report = await copyStore(from, to);
      expect(report).toMatchObject({ complete: true, differences: [], problems: [] });
      expect(report.parts.runs).toEqual({ copied: 25, same: 0, removed: 0, differing: 0 });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
      const again = await copyStore(from, to);
      expect(again).toMatchObject({ complete: true, differences: [], problems: [] });
      for (const [part, counts] of Object.entries(again.parts)) {
        // Bindings are compared twice, by trace and by session. A first copy may find the second order the same already.
        const { copied, same } = report.parts[part as TenantPart]!;
        expect(counts, part).toEqual({ copied: 0, same: copied + same, removed: 0, differing: 0 });
        if (part !== 'bindings') expect(same, part).toBe(0);
      }
      for (const [token, payload] of pauses)
        expect(await to.forTenant('acme').agents.loadPlannerState(token), 'the same token resumes').toEqual(payload);
      expect(await to.kv.get('tidemark.subscriptions.mine.shard-0'), 'a openStore in another feed').toBe(null);
    },
  );

  it('is confined to the given parts and tenants', async () => {
    const [from, to] = [memory(), memory()];
    await fill(from);
    await copyStore(from, to, { tenants: ['acme'], parts: ['runs', 'memory'] });
    expect((await to.admin.listTenants()).items).toEqual(['acme']);
    const { runs, agents, kv } = to.forTenant('acme');
    expect((await runs.listRuns()).items.length).toBe(13);
    expect((await agents.listMemory()).items.length).toBe(5);
    expect((await agents.listSessions()).items).toEqual([]);
    expect(await kv.get('key-1')).toBe(null);
  });

  it('reports its progress', async () => {
    const [from, to] = [memory(), memory()];
    await fill(from);
    const phases: string[] = [];
    await copyStore(from, to, { onProgress: ({ phase, parts }) => phases.push(`${phase} ${parts.runs!.copied}`) });
    expect(phases.at(-1)).toBe('verifying 25');
    expect(phases.length).toBeGreaterThan(1);
  });

  it('continues where an interrupted one stopped', { timeout: 60_000 }, async () => {
    const [from, to] = [memory(), await openStore('sqlite')];
    await fill(from);
    for (let steps = 1; ; steps *= 2) {
      const stopping = new AbortController();
      let left = steps;
      const probe = () => void (left-- === 0 && stopping.abort());
      const report = await copyStore(from, to, { signal: stopping.signal, probe, concurrency: 2 });
      if (!stopping.signal.aborted) {
        expect(report.complete).toBe(true);
        break;
      }
      expect(report.complete, 'a copy that was stopped is not complete').toBe(false);
    }
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
  });

  it('survives transient failures of either side', { timeout: 60_000 }, async () => {
    const from = memory();
    const to = await openStore('sqlite');
    await fill(from);
    let calls = 0;
    const shaky = altered(to, {
      runs: (runs) => ({
        restoreRun: async (parts, options) => {
          const result = await runs.restoreRun(parts, options);
          if (calls++ % 3 === 0) throw new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost');
          return result;
        },
      }),
      kv: (kv) => ({
        put: async (key, fields, options) => {
          if (calls++ % 10 === 0) throw new TidemarkError('UNAVAILABLE', 'Not now');
          return kv.put(key, fields, options);
        },
      }),
    });
    expect(await copyStore(from, shaky)).toMatchObject({ complete: true, problems: [] });
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
  });
});

it('a backup of any engine is a copy into a SQLite file, and a restore is the copy back', {
  timeout: 60_000,
}, async () => {
  const engine = AVAILABLE.has('redis') ? 'redis' : 'memory';
  const [store, file, restored] = [await openStore(engine), await openStore('sqlite'), await openStore(engine)];
  await fill(store);
  const before = await contentsOf(store);
  expect((await copyStore(store, file)).complete).toBe(true);
  expect((await copyStore(file, restored)).complete).toBe(true);
  expect(await contentsOf(restored)).toEqual(before);
});

describe('a run that the target has already', () => {
  it('is replaced if the target has only its beginning', async () => {
    const [from, to] = [memory(), memory()];
    const run = from.runs.handle('grown');
    for (let n = 0; n < 3; n++) await run.append('Progress', { n });
    await copyStore(from, to);
    for (let n = 3; n < 5; n++) await run.append('Progress', { n });
    const report = await copyStore(from, to, { parts: ['runs'] });
    expect(report.parts.runs).toEqual({ copied: 1, same: 0, removed: 0, differing: 0 });
    expect(report.complete).toBe(true);
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
    expect((await to.runs.handle('grown').append('Progress', {})).runSeq, 'and can be written to').toBe(6);
  });

  it('is finally replaced if a copy was interrupted while replacing it', async () => {
    const [from, to] = [memory(), memory()];
    const run = from.runs.handle('grown');
    await run.append('Progress');
    await copyStore(from, to);
    await run.append('Progress');
    const crash = () => {
      throw new Error('crash');
    };
    await expect(copyStore(from, to, { probe: (point) => void (point === 'replacing' && crash()) })).rejects.toThrow(
      'crash',
    );
    await expect(to.forTenant('default').runs.headSeq('grown')).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
    expect((await copyStore(from, to)).complete).toBe(true);
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
  });

  it.each(['memory', 'sqlite'])(
    'is restarted in %s if a copy was interrupted in the middle of it and the source has grown since',
    { timeout: 30_000 },
    async (engine) => {
      const [from, to] = [memory(), await openStore(engine)];
      const crashAt = (name: string) => (point: string) => {
        if (point === name) throw new Error('crash');
      };
      await fillLong(from);
      await expect(copyStore(from, to, { probe: crashAt('run part') })).rejects.toThrow('crash');
      await expect(to.forTenant('acme').runs.headSeq('long')).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
      await from.runs.handle('long', { tenantId: 'acme', projectId: 'p', environmentId: 'e' }).append('Late');
      await expect(copyStore(from, to, { probe: crashAt('replacing') })).rejects.toThrow('crash');
      expect(await to.forTenant('acme').runs.headSeq('long'), 'cut off again, with the run deleted').toBe(0);
      expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
      expect(await contentsOf(to)).toEqual(await contentsOf(from));
      const keys = (await Array.fromAsync(to.forTenant('acme').kv.scan(''))).map(({ key }) => key);
      expect(keys, 'and no mark is left').toEqual(keys.filter((key) => key.startsWith('tidemark.copies.manifest.')));
    },
  );

  it.each<[string, (from: Store, to: Store) => Promise<unknown>]>([
    ['has another history there', (_, to) => to.runs.handle('run').append('Other')],
    [
      'has gone on there',
      async (from, to) => {
        await copyStore(from, to);
        await to.runs.handle('run').append('More');
      },
    ],
    [
      'was deleted there',
      async (from, to) => {
        await copyStore(from, to);
        await to.runs.deleteRun('run');
      },
    ],
    [
      'was archived there',
      async (from, to) => {
        await copyStore(from, to);
        await to.runs.archiveRun('run', { location: 'file:elsewhere', expectedSeq: 1 });
      },
    ],
  ])('is kept and reported when it %s', async (_, diverge) => {
    const [from, to] = [memory(), memory()];
    await from.runs.handle('run').append('Progress');
    await diverge(from, to);
    const before = await to.runs.fetchEvents('run').catch((error: { code: string }) => error.code);
    const report = await copyStore(from, to);
    expect(report.complete).toBe(false);
    expect(report.parts.runs).toEqual({ copied: 0, same: 0, removed: 0, differing: 1 });
    expect(report.differences).toMatchObject([{ part: 'runs', tenantId: 'default', id: 'run' }]);
    expect(await to.runs.fetchEvents('run').catch((error: { code: string }) => error.code)).toEqual(before);
  });
});

describe('changes in the source', () => {
  it('are copied by the next copy', async () => {
    const [from, to] = [memory(), memory()];
    await from.kv.put('a', { n: 1 });
    await from.agents.saveMemoryState('m', { n: 1 });
    await copyStore(from, to);
    await from.kv.put('a', { n: 2 });
    await from.agents.saveMemoryState('m', { n: 2 });
    const report = await copyStore(from, to);
    expect(report.parts.kv).toEqual({ copied: 1, same: 0, removed: 0, differing: 0 });
    expect(report.parts.memory).toEqual({ copied: 1, same: 0, removed: 0, differing: 0 });
    expect(await contentsOf(to)).toEqual(await contentsOf(from));
  });

  it('made by a redaction are copied too, although the head stays the same', async () => {
    const [from, to] = [memory(), memory()];
    const run = from.runs.handle('run');
    for (let n = 0; n < 3; n++) await run.append('Progress', { secret: n });
    await copyStore(from, to);
    await from.runs.redactEvent('run', 2, { by: 'ada', reason: 'a phone number' });
    expect((await copyStore(from, to)).parts.runs).toEqual({ copied: 1, same: 0, removed: 0, differing: 0 });
    const [, event] = await to.runs.fetchEvents('run');
    expect(event).toMatchObject({ redacted: { by: 'ada', reason: 'a phone number' } });
    expect(event).not.toHaveProperty('payload');
    expect((await copyStore(from, to)).parts.runs).toEqual({ copied: 0, same: 1, removed: 0, differing: 0 });
    expect(await to.runs.verify('run')).toMatchObject({ ok: true });
  });

  it('during a copy are reported', async () => {
    const [from, to] = [memory(), memory()];
    await from.kv.put('a', { n: 1 });
    let changed = false;
    const probe = (point: string) => {
      if (point !== 'verifying' || changed) return;
      changed = true;
      void from.kv.put('b', { n: 2 });
    };
    await from.runs.handle('run').append('Progress');
    const report = await copyStore(from, to, { probe });
    expect(report).toMatchObject({ complete: false, parts: { kv: { differing: 1 } } });
  });
});

it('rejects a part that one side lacks before anything is copied', async () => {
  const [from, to] = [memory(), memory()];
  await from.kv.put('a', { n: 1 });
  const lacking = new Proxy(to, {
    get: (target, name) =>
      name === 'info'
        ? { ...target.info, capabilities: { ...target.info.capabilities, artifacts: false } }
        : Reflect.get(target, name, target),
  });
  await expect(copyStore(from, lacking)).rejects.toMatchObject({ code: 'UNSUPPORTED', field: 'parts' });
  expect(await to.kv.get('a')).toBe(null);
});
