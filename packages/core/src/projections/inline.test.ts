/** Inline projections in cases that the kit does not cover: asynchronous schemas, codecs, wrappers, restored runs. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encryption } from '../codec/encryption.ts';
import type { Projection } from '../contracts/projections.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { StandardSchema } from '../contracts/schemas.ts';
import type { Store } from '../contracts/store.ts';
import { defineEvents } from '../events/define.ts';
import { textOf } from '../kv/values.ts';
import { memoryStore } from '../memory/store.ts';
import { withRuns } from '../store.ts';
import { withBatching } from '../wrappers/batching.ts';
import { withFailSafe } from '../wrappers/fail-safe.ts';
import { withRetries } from '../wrappers/retrying.ts';
import { defineProjection } from './define.ts';
import { stateKey } from './stored.ts';

const words = defineProjection({
  name: 'words',
  version: 1,
  initial: { words: [] as string[] },
  on: {
    Said(state, event) {
      if (event.payload?.word === 'taboo') throw new Error('not that word');
      state.words.push(event.payload?.word as string);
    },
  },
});

/** Returns the stored state without refreshing it. */
async function stored(store: Store, projection: Projection<unknown> = words, runId = 'r'): Promise<unknown> {
  const record = await store.kv.get(stateKey(projection.name, projection.version, runId));
  return record && JSON.parse(textOf(record.fields.state)!);
}

/** Returns a schema that waits for `until` before it validates. */
function waiting<T>(until: () => Promise<unknown>): StandardSchema<T> {
  const validate = async (value: unknown) => {
    await until();
    return { value: value as T };
  };
  return { '~standard': { version: 1, vendor: 'by hand', validate } };
}

describe('inline projections', () => {
  it('can be set on the handle of a run', async () => {
    const store = memoryStore();
    const run = store.runs.handle('r', { projections: [words] });
    await run.append('Said', { word: 'one' });
    await run.append('Said', { word: 'two' });
    expect(await stored(store)).toEqual({ words: ['one', 'two'] });
    await expect(run.append('Said', { word: 'taboo' })).rejects.toMatchObject({
      code: 'PROJECTION_FAILED',
      outcome: 'rejected',
    });
    expect(await run.headSeq()).toBe(2);
  });

  it('wait for asynchronous schemas', async () => {
    const store = memoryStore();
    const Talk = defineEvents({ Said: waiting<{ word: string }>(() => new Promise((done) => setTimeout(done, 5))) });
    const last = defineProjection({
      name: 'last',
      version: 1,
      events: Talk,
      initial: { word: '' },
      on: { Said: (_, { payload }) => ({ word: payload.word }) },
    });
    const run = store.runs.handle('r', { projections: [last, words] });
    await Promise.all(['a', 'b', 'c'].map((word) => run.append('Said', { word })));
    const log = await store.runs.fetchEvents('r');
    expect(await stored(store, last)).toEqual({ word: log.at(-1)!.payload!.word });
    expect(await stored(store)).toEqual({ words: log.map(({ payload }) => payload!.word) });
  });

  it('time out and write nothing when a schema never resolves, without blocking others', async () => {
    const store = memoryStore();
    const Talk = defineEvents({ Said: waiting<{ word: string }>(() => new Promise(() => {})) });
    const stuck = defineProjection({ name: 'stuck', version: 1, events: Talk, initial: {}, on: { Said() {} } });
    const run = store.runs.handle('r', { projections: [stuck] });
    await expect(run.append('Said', { word: 'x' }, { timeoutMs: 50 })).rejects.toMatchObject({ retryable: true });
    await store.runs.handle('r', { projections: [words] }).append('Said', { word: 'free' });
    expect(await store.runs.headSeq('r')).toBe(1);
    expect(await stored(store)).toEqual({ words: ['free'] });
  });

  it('fold from the beginning when the run was replaced since the state was folded', async () => {
    const store = memoryStore();
    const run = store.runs.handle('r', { projections: [words] });
    await run.append('Said', { word: 'kept' });
    const parts: RunPart[] = await Array.fromAsync(store.runs.exportRun('r'));
    for (const word of ['lost', 'lost too', 'all lost']) await run.append('Said', { word });
    await store.runs.deleteRun('r');
    await store.runs.restoreRun(parts, { overDeleted: true });
    expect((await words.project(store, 'r')).state).toEqual({ words: ['kept'] });
    await run.append('Said', { word: 'new' });
    expect(await stored(store)).toEqual({ words: ['kept', 'new'] });
    await store.runs.deleteRun('r');
    await store.runs.restoreRun(parts, { overDeleted: true });
    expect(await words.refresh(store, 'r')).toMatchObject({ state: { words: ['kept'] }, lastEventSeq: 1, folded: 1 });
  });

  it('name the event that the log lacks, and write nothing', async () => {
    const whole = memoryStore();
    for (const word of ['one', 'two', 'three']) await whole.runs.handle('r').append('Said', { word });
    const store = withRuns(whole, (engine) => ({
      append: (appends, call) =>
        engine.append(
          appends.map(({ sameCommit, ...append }) => ({
            ...append,
            sameCommit: {
              ...sameCommit!,
              writes: (placed, found, log) => {
                const read: typeof log.read = async (...range) => (await log.read(...range)).slice(0, -1);
                return sameCommit!.writes(placed, found, { ...log, read });
              },
            },
          })),
          call,
        ),
    }))!;
    const append = store.runs.handle('r', { projections: [words] }).append('Said', { word: 'four' });
    await expect(append).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 3 });
    expect([await whole.runs.headSeq('r'), await stored(whole)]).toEqual([3, null]);
  });

  it('store their states encoded', async () => {
    const codec = encryption({ keys: { k: randomBytes(32) }, current: 'k' });
    const store = memoryStore({ codec });
    const run = store.runs.handle('r', { projections: [words] });
    await run.append('Said', { word: 'secret' });
    await run.append('Said', { word: 'secret too' });
    expect(JSON.stringify(await stored(store))).not.toContain('secret');
    expect((await words.get(store, 'r'))?.state).toEqual({ words: ['secret', 'secret too'] });
  });

  it('reject the events when the state is too large', async () => {
    const store = memoryStore({ limits: { fieldBytes: 100 } });
    const run = store.runs.handle('r', { projections: [words] });
    await run.append('Said', { word: 'short' });
    await expect(run.append('Said', { word: 'x'.repeat(100) })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      field: 'state',
    });
    expect(await run.headSeq()).toBe(1);
  });

  it('notify watchers and tails', async () => {
    const store = memoryStore();
    const controller = new AbortController();
    const changes = store.kv.watch('tidemark.projections.', { signal: controller.signal })[Symbol.asyncIterator]();
    const events = store.runs.tail('r', { signal: controller.signal, tenantId: 'default' })[Symbol.asyncIterator]();
    const both = Promise.all([changes.next(), events.next()]);
    await store.runs.handle('r', { projections: [words] }).append('Said', { word: 'heard' });
    const [change, event] = await both;
    expect([change.value?.type, event.value?.payload]).toEqual(['put', { word: 'heard' }]);
    controller.abort();
  });

  it('work through wrappers', async () => {
    const inner = memoryStore();
    for (const [at, store] of [withRetries(inner), withBatching(inner), withFailSafe(inner)].entries()) {
      const run = store.runs.handle(`r${at}`, { projections: [words] });
      await run.append('Said', { word: 'x' });
      expect(await stored(inner, words, `r${at}`)).toEqual({ words: ['x'] });
      await expect(run.append('Said', { word: 'taboo' })).rejects.toMatchObject({ code: 'PROJECTION_FAILED' });
    }
  });
});
