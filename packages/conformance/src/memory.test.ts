/** The whole kit on the memory store under vitest, and its handling of stores that lack capabilities. */
import { memoryStore, type Store } from '@tidemark/core';
import { afterAll, describe, expect, it } from 'vitest';
import { healthy } from './broken/wrap.ts';
import { ALL_CASES } from './cases/index.ts';
import type { ConformanceCase } from './kit.ts';
import { registerConformance } from './register.ts';
import { formatReport } from './report.ts';
import { runConformance } from './suite.ts';

registerConformance({ describe, it, afterAll }, 'The memory store', healthy);

function caseThat(run: ConformanceCase['run'], more: Partial<ConformanceCase> = {}): ConformanceCase {
  return { id: 'general/example', title: 'an example', domain: 'general', proves: ['GEN-7'], run, ...more };
}

describe('runConformance', () => {
  it('reports passed, failed and skipped cases as JSON and as text', async () => {
    const cases = [
      caseThat(async () => {}, { id: 'general/kept' }),
      caseThat(() => Promise.reject(new Error('the promise')), { id: 'general/broken' }),
      caseThat(async () => {}, { id: 'general/absent', needs: ['reopen'] }),
    ];
    const report = await runConformance(() => memoryStore(), { cases });
    expect(report).toMatchObject({
      backend: 'memory',
      contractVersion: '2.0.0',
      durability: 'none',
      totals: { passed: 1, failed: 1, skipped: 1 },
      cases: [
        { id: 'general/kept', status: 'passed' },
        { id: 'general/broken', status: 'failed', error: 'the promise' },
        { id: 'general/absent', status: 'skipped', reason: 'the store does not declare reopen' },
      ],
    });
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    const text = formatReport(report);
    expect(text).toContain('the promise');
    expect(text).toContain('the store does not declare reopen: general/absent');
  });

  it('gives each case its own tenant and opens a new store after a case that closes it', async () => {
    const opened: Store[] = [];
    const tenants: string[] = [];
    const open = () => {
      opened.push(memoryStore());
      return opened.at(-1)!;
    };
    const note = async ({ tenantId }: { tenantId: string }) => void tenants.push(tenantId);
    const cases = [
      caseThat(async ({ store }) => store.close(), { id: 'general/closes', closesStore: true }),
      caseThat(note, { id: 'general/one' }),
      caseThat(note, { id: 'general/two' }),
      caseThat(note, { id: 'general/after', closesStore: true }),
    ];
    const { totals } = await runConformance(open, { cases, concurrency: 4 });
    expect(totals).toEqual({ passed: 4, failed: 0, skipped: 0 });
    expect(new Set(tenants).size).toBe(3);
    expect(opened).toHaveLength(2);
  });

  it('selects by part of an id, by clause and by domain', async () => {
    const ids = async (selection: object) =>
      (await runConformance(() => healthy(), { ...selection, modelRuns: 1 })).cases.map((it) => it.id);
    expect(await ids({ only: 'kv/put-and-get' })).toEqual(['kv/put-and-get']);
    expect(await ids({ only: 'RUN-16' })).toEqual(['runs/append-returns-assignment']);
    expect(await ids({ only: /revision/, domains: ['kv'] })).toContain('kv/swap-on-the-revision');
  });

  it('runs the same with concurrent cases on a real clock', async () => {
    const { totals, cases } = await runConformance(() => memoryStore({ timeoutMs: 20_000 }), {
      domains: ['general', 'runs', 'kv'],
      concurrency: 8,
      modelRuns: 5,
    });
    expect(cases.filter((it) => it.status === 'failed')).toEqual([]);
    expect(totals.passed).toBeGreaterThan(150);
    expect(ALL_CASES.length).toBeGreaterThan(totals.passed);
  });
});
