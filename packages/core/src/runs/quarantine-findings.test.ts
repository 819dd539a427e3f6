/** The doctor counts quarantined runs, and lists a few of them for operators. */
import { expect, it } from 'vitest';
import type { QuarantineQuery, StoredQuarantine } from '../engine/quarantines.ts';
import type { RunEngine } from '../engine/runs.ts';
import { quarantineFindings } from './quarantine-findings.ts';

async function findingsOf(count: number, tenantId: string | null) {
  const entries = Array.from({ length: count }, (_, n): StoredQuarantine => {
    return {
      tenantId: 't',
      runId: `r${n}`,
      fromSeq: n + 1,
      reason: 'damaged',
      at: 1,
      state: 'quarantined',
      release: 0,
      notice: 0,
    };
  });
  const asked: QuarantineQuery[] = [];
  const list = async (query: QuarantineQuery) => {
    asked.push(query);
    return entries.slice(0, query.limit);
  };
  const findings = await quarantineFindings({ quarantines: { list } } as unknown as RunEngine, tenantId, {});
  expect(asked).toEqual([{ tenantId: tenantId ?? undefined, state: 'quarantined', limit: 1_000 }]);
  return findings;
}

it('reports nothing while no run is quarantined', async () => {
  expect(await findingsOf(0, null)).toEqual([]);
});

it('names up to five runs, and marks that there are more', async () => {
  const messageOf = async (count: number) => (await findingsOf(count, null))[0]!.message;
  expect(await messageOf(1)).toBe('1 run is quarantined: "r0" of "t" from 1 on');
  expect(await messageOf(2)).toBe('2 runs are quarantined: "r0" of "t" from 1 on, "r1" of "t" from 2 on');
  expect(await messageOf(5)).toMatch(/^5 runs are quarantined: .*"r4" of "t" from 5 on$/);
  expect(await messageOf(6)).toMatch(/^6 runs are quarantined: .*"r4" of "t" from 5 on, …$/);
  expect(await messageOf(999)).toMatch(/^999 runs are/);
  expect(await messageOf(1_000)).toMatch(/^1000 or more runs are/);
});

it('names no run to a tenant', async () => {
  expect(await findingsOf(2, 't')).toMatchObject([{ status: 'fail', message: '2 runs are quarantined' }]);
});
