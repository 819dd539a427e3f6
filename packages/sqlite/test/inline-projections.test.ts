/** Inline projections in one file: killed writers, and other work in the same group commit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineEvents, defineProjection, numberOf, type StandardSchema, type Store } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sqliteStore } from '../src/index.ts';
import { counts, INLINE_RUNS } from './inline-projection.ts';
import { startNode } from './programs.ts';

const ROUNDS = 4;
const ANSWERS_A_ROUND = 60;

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-inline-'));
  path = join(directory, 'store.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Returns the sequence that a state is stored up to, without updating it. */
async function storedSeq(store: Store, runId: string): Promise<number | null> {
  return numberOf(await store.kv.getField(`tidemark.projections.counts.1.${runId}`, 'seq'));
}

/** Starts a writer and kills it after enough answers. Returns the last answer for each run. */
async function killedWriter(): Promise<Map<string, number>> {
  const { child, ended } = startNode({ script: 'packages/sqlite/test/inline-projections-child.ts' }, path);
  let lines = 0;
  child.stdout!.on('data', (text: string) => {
    lines += text.split('\n').length - 1;
    if (lines >= ANSWERS_A_ROUND) child.kill('SIGKILL');
  });
  const { stdout, stderr } = await ended;
  expect(stderr).toBe('');
  const answered = new Map<string, number>();
  for (const line of stdout.split('\n').slice(0, -1)) {
    const [runId, seq] = line.split(' ') as [string, string];
    answered.set(runId, Math.max(answered.get(runId) ?? 0, Number(seq)));
  }
  return answered;
}

describe('inline projections on SQLite', () => {
  it('are up to date with the log when their writer is killed, repeatedly', { timeout: 120_000 }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const answered = await killedWriter();
      const store = await sqliteStore(path);
      for (const runId of INLINE_RUNS) {
        const head = await store.runs.headSeq(runId);
        expect(head).toBeGreaterThanOrEqual(answered.get(runId)!);
        expect(await storedSeq(store, runId)).toBe(head);
        expect((await counts.get(store, runId))?.state).toEqual({ events: head });
        expect((await store.runs.verify(runId)).ok).toBe(true);
      }
      await store.close();
    }
  });

  it('that reject roll back nothing else in the same commit, and do not move the head', async () => {
    const store = await sqliteStore(path);
    const plain = store.runs.handle('r');
    const inline = store.runs.handle('r', { projections: [counts] });
    await inline.append('Counted');
    const outcomes = await Promise.allSettled([
      plain.append('Counted'),
      inline.append('Refused'),
      plain.append('Counted'),
      inline.append('Counted'),
      inline.append('Refused'),
      store.runs.handle('new', { projections: [counts] }).append('Refused'),
      store.runs.handle('new').append('Counted'),
      store.kv.put('k', { a: 1 }),
    ]);
    expect(outcomes.map((it) => (it.status === 'rejected' ? it.reason.code : 'ok'))).toEqual([
      'ok',
      'PROJECTION_FAILED',
      'ok',
      'ok',
      'PROJECTION_FAILED',
      'PROJECTION_FAILED',
      'ok',
      'ok',
    ]);
    expect(await inline.append('Counted')).toMatchObject({ runSeq: 5 });
    expect((await counts.get(store, 'r'))?.state).toEqual({ events: 5 });
    expect(await store.runs.headSeq('new')).toBe(1);
    expect(await storedSeq(store, 'new')).toBeNull();
    for (const runId of ['r', 'new']) expect((await store.runs.verify(runId)).ok).toBe(true);
    await store.close();
  });

  it('whose schema never resolves hold the file no longer than their time limit', async () => {
    const store = await sqliteStore(path);
    const never: StandardSchema<object> = {
      '~standard': { version: 1, vendor: 'by hand', validate: () => new Promise(() => {}) },
    };
    const stuck = defineProjection({
      name: 'stuck',
      version: 1,
      events: defineEvents({ Counted: never }),
      initial: {},
      on: { Counted() {} },
    });
    const began = performance.now();
    const hanging = store.runs.handle('r', { projections: [stuck] }).append('Counted', {}, { timeoutMs: 300 });
    const [hung, other] = await Promise.allSettled([hanging, store.runs.handle('r').append('Counted')]);
    expect(hung).toMatchObject({ status: 'rejected', reason: { retryable: true } });
    expect(other).toMatchObject({ status: 'fulfilled', value: { runSeq: 1 } });
    expect(performance.now() - began, 'not its usual five seconds').toBeLessThan(4_500);
    await store.close();
  });
});
