/**
 * Cursors come from callers and may be forged: every list accepts a forged cursor or refuses it with INVALID_ARGUMENT
 * (GEN-1, GEN-5).
 */
import { isTidemarkError } from '@tidemark/core';
import { expect } from '../expect.ts';
import type { Bench, ConformanceCase } from '../kit.ts';
import { generalCase } from './define.ts';
import { runEvent } from './runs/events.ts';

type Lister = (cursor?: string) => Promise<{ next?: string }>;

const WRONG_TEXTS = [
  '',
  'a\0b',
  '\ud800',
  '9'.repeat(20),
  '9'.repeat(400),
  '99999999999999999999-99999999999999999999',
];
const WRONG_NUMBERS = [-1, 0.5, 2 ** 31, 2 ** 53 - 1, 1e300];

/** Returns cursors that differ from a valid one in a single value. */
function forgeriesOf(cursor: string): string[] {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return [];
  }
  if (!Array.isArray(values)) return [];
  return values.flatMap((value, at) => {
    const wrong = typeof value === 'string' ? WRONG_TEXTS : typeof value === 'number' ? WRONG_NUMBERS : [];
    return wrong.map((it) => encoded(values.with(at, it)));
  });
}

/** Fills some lists with two items each, and returns functions that read them in pages of one. */
async function filledLists(bench: Bench): Promise<Record<string, Lister>> {
  const { runs, kv, jobs, agents, info } = bench.tenant;
  const { capabilities } = info;
  const limit = 1;
  const lists: Record<string, Lister> = {};
  for (const n of [1, 2]) {
    if (capabilities.runs) await runs.appendEvent(runEvent(bench, { runId: bench.id(`run-${n}`) }));
    if (capabilities.kv) await kv.put(`cursor.${n}`, { a: '1' });
    if (capabilities.jobs) await jobs.enqueue({ taskType: 'mail', taskId: bench.id(`job-${n}`) });
    if (capabilities.memory) await agents.saveMemoryState(`memory-${n}`, { n });
  }
  if (capabilities.runs) lists.runs = (cursor) => runs.listRuns({ limit, cursor });
  if (capabilities['runs.feed']) lists.feed = (after) => runs.feedPage({ limit, cursor: after });
  if (capabilities.kv) lists.records = (cursor) => kv.scanPage('cursor.', { limit, cursor });
  if (capabilities.jobs) lists.jobs = (cursor) => jobs.list('pending', { limit, cursor, taskType: 'mail' });
  if (capabilities.memory) lists.memory = (cursor) => agents.listMemory({ limit, cursor });
  return lists;
}

export const CURSOR_CASES: readonly ConformanceCase[] = [
  generalCase({
    id: 'general/forged-cursors-are-arguments',
    title: 'a forged cursor yields a page or fails with INVALID_ARGUMENT',
    proves: ['GEN-1', 'GEN-5'],
    async run(bench) {
      for (const [name, list] of Object.entries(await filledLists(bench))) {
        const { next } = await list();
        const garbage = ['', '\0', '\ud800', 'x'.repeat(3_000), Buffer.from('[[[]]]').toString('base64url')];
        for (const cursor of [...garbage, ...(next === undefined ? [] : forgeriesOf(next))]) {
          const error = await list(cursor).then(
            () => null,
            (reason) => reason,
          );
          const isAllowed = error === null || isTidemarkError(error, 'INVALID_ARGUMENT');
          expect(isAllowed, `the list of ${name} with cursor ${JSON.stringify(cursor)}: ${error?.code ?? error}`);
        }
      }
    },
  }),
];
