/** Tests `open`: the default path, URLs, composed stores, and errors. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineProjection, open, type Store } from './index.ts';

/** A driver that is not installed in this repository, or `undefined` if all are installed. */
const absent = Object.entries({ nats: '@tidemark/nats', redis: '@tidemark/redis', http: '@tidemark/client' }).find(
  ([, name]) => !existsSync(new URL(`../../../node_modules/${name}`, import.meta.url)),
);

const home = process.cwd();
let folder: string;
const opened: Store[] = [];

/** Opens a store and closes it when the test ends. */
async function openStore(...args: Parameters<typeof open>): Promise<Store> {
  const store = await open(...args);
  opened.push(store);
  return store;
}

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-open-')));
  process.chdir(folder);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  process.chdir(home);
  rmSync(folder, { recursive: true });
});

describe('open', () => {
  it('creates a durable SQLite file in the current directory without arguments', async () => {
    const store = await openStore();
    await store.runs.handle('r').append('RunStarted');
    expect(existsSync(join(folder, '.tidemark/state.db'))).toBe(true);
    expect(store.info).toMatchObject({ backend: 'sqlite', durability: 'host-crash' });
    await store.close();
    const again = await openStore();
    expect(await again.runs.headSeq('r')).toBe(1);
  });

  it('accepts all forms of a SQLite URL', async () => {
    const forms: [string, string][] = [
      ['sqlite:a.db', 'a.db'],
      ['sqlite:./b/c.db', 'b/c.db'],
      [`sqlite:${folder}/d.db`, 'd.db'],
      [`sqlite://${folder}/e.db`, 'e.db'],
      ['sqlite:with%20space.db', 'with space.db'],
    ];
    for (const [url, file] of forms) {
      await openStore(url);
      expect(existsSync(join(folder, file)), url).toBe(true);
    }
  });

  it('rejects a SQLite URL without a file name', async () => {
    for (const url of ['sqlite:', 'sqlite://host', 'sqlite::memory:']) {
      await expect(open(url), url).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('rejects an invalid percent escape with INVALID_ARGUMENT (GEN-1)', async () => {
    await expect(open('sqlite:%zz')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('opens a memory store by URL, unless durability is required', async () => {
    expect((await openStore('memory:')).info.backend).toBe('memory');
    await expect(open('memory:', { durability: 'require' })).rejects.toMatchObject({ code: 'DURABILITY_TOO_WEAK' });
  });

  it('lists the known schemes if the scheme is unknown or missing', async () => {
    for (const url of ['mysql://host/db', 'app.db', '']) {
      await expect(open(url), url).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        field: 'url',
        message: expect.stringMatching(/a URL that starts with memory:, sqlite:, postgres:/),
      });
    }
  });

  it('names the missing package and how to install it', async (context) => {
    if (!absent) return context.skip('every driver is installed here');
    const [scheme, name] = absent;
    await expect(open(`${scheme}://localhost`)).rejects.toMatchObject({
      code: 'DRIVER_MISSING',
      message: `${scheme}: needs the package ${name}; install it with: npm install ${name}`,
    });
  });

  it('passes its options to the store', async () => {
    const store = await openStore('memory:', { limits: { eventPayloadBytes: 10 } });
    const append = store.runs.handle('r').append('RunStarted', { text: 'longer than ten bytes' });
    await expect(append).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });

  it('closes the store at the end of an `await using` block', async () => {
    let kept: Store;
    {
      await using store = await open('sqlite:app.db');
      kept = store;
      expect(await store.ping()).toBe(true);
    }
    await expect(kept.ping()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

describe('a composed store', () => {
  it('reports the backends, capabilities and weakest durability of its parts', async () => {
    const store = await openStore({ default: 'sqlite:app.db', pauses: 'memory:' });
    expect(store.info.backend).toBe('sqlite+memory');
    expect(store.info.durability).toBe('none');
    expect(store.info.capabilities).toMatchObject({
      runs: true,
      'runs.transactions': true,
      pauses: true,
      reopen: false,
    });
    expect((await openStore({ default: 'sqlite:app.db', kv: 'sqlite:other.db' })).info.durability).toBe('host-crash');
  });

  it('writes states with their events only if runs and kv are on the same engine', async () => {
    const counts = defineProjection({ name: 'counts', version: 1, initial: {}, on: {} });
    const options = { projections: [counts] };
    const together = await openStore({ default: 'sqlite:app.db', pauses: 'memory:' });
    expect(together.info.capabilities['runs.inlineProjections']).toBe(true);
    await together.runs.handle('r', options).append('A');
    const apart = await openStore({ default: 'sqlite:app.db', kv: 'sqlite:other.db' });
    expect(apart.info.capabilities['runs.inlineProjections']).toBe(false);
    await expect(apart.runs.handle('r', options).append('B')).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      field: 'projections',
      rule: 'a capability of the store',
    });
    expect(await apart.runs.headSeq('r')).toBe(1);
  });

  it('pings and examines every part, and names the parts in the findings', async () => {
    const [one, two] = [memoryStore(), await open('sqlite:two.db')];
    const store = await openStore({ default: two, kv: one });
    expect(await store.ping()).toBe(true);
    const { findings } = await store.doctor();
    expect(findings.some(({ check }) => check.startsWith('sqlite: '))).toBe(true);
    await two.close();
    expect(await store.ping().catch(() => false)).toBe(false);
  });

  it('stores snapshots on another engine and projects the current one (AGT-1)', async () => {
    const [events, snapshots] = [await open('sqlite:events.db'), memoryStore()];
    const store = await openStore({ default: events, snapshots });
    const run = store.runs.handle('r');
    await run.append('RunStarted');
    expect(await store.runs.getSnapshot('r')).toMatchObject({ status: 'RUNNING', lastEventSeq: 1 });
    await run.append('RunCompleted');
    expect(await run.snapshot()).toMatchObject({ status: 'COMPLETED', lastEventSeq: 2 });
    expect(await store.runs.deleteRun('r')).toBe(true);
    expect(await store.runs.getSnapshot('r')).toBeNull();
  });

  it('stores pauses only on their own engine (AGT-1)', async () => {
    const [main, pauses] = [await open('sqlite:main.db'), memoryStore()];
    const store = await openStore({ default: main, pauses });
    await store.agents.savePlannerState('token', { step: 1 });
    expect(await main.agents.loadPlannerState('token')).toEqual({});
    expect(await pauses.agents.loadPlannerState('token')).toEqual({ step: 1 });
  });

  it('stores jobs on the engine of kv (KV-7)', async () => {
    const kv = memoryStore();
    const store = await openStore({ default: 'sqlite:app.db', kv });
    const { job } = await store.jobs.enqueue({ taskType: 'email-send', taskId: 'a' });
    expect(await kv.jobs.get(job)).toEqual(job);
    expect(await (await openStore('sqlite:app.db')).jobs.get(job)).toBe(null);
    expect(store.info.capabilities.jobs).toBe(true);
  });

  it('opens a URL of two parts once, and closes every part', async () => {
    const store = await open({ default: 'sqlite:app.db', kv: 'memory:', pauses: 'memory:' });
    await store.close();
    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    const part = memoryStore();
    await (await open({ default: part })).close();
    await expect(part.ping()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  it('rejects compositions without a default, with unknown parts, and with foreign stores', async () => {
    await expect(open({ kv: 'memory:' } as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'url' });
    const unknownPart = open({ default: 'memory:', steps: 'memory:' } as never);
    await expect(unknownPart).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('one of default, runs'),
    });
    await expect(open({ default: {} as Store })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'default' });
  });

  it('closes the parts it has opened if a later one cannot be opened', async () => {
    const composed = open({ default: 'sqlite:app.db', kv: 'mysql://localhost' });
    await expect(composed).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(existsSync(join(folder, 'app.db-wal')), 'a closed store leaves no WAL').toBe(false);
  });
});
