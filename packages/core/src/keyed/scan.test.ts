/** Scans of keyed engines: every page, damaged records at the end, and gaps in journals. */
import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../engine/journal.ts';
import type { ScannedRecord } from '../engine/records.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { checkDense, scanRecords } from './scan.ts';

const NAME = { space: 'tasks', tenantId: 't' } as const;

async function recordsWith(keys: readonly string[], damaged: readonly string[] = []) {
  const inner = memoryRecords(new StoreContext());
  for (const key of keys)
    await inner.write({ name: { ...NAME, key }, mode: 'replace', set: new Map([['a', Buffer.of(1)]]) });
  return withCalls(inner, {
    scan: async (...args: Parameters<typeof inner.scan>) =>
      (await inner.scan(...args)).map(
        (it): ScannedRecord => (damaged.includes(it.key) ? { ...it, fields: new Map(), damaged: true } : it),
      ),
  });
}

describe('scanRecords', () => {
  const scan = async (records: Awaited<ReturnType<typeof recordsWith>>, range: object, call: object = {}) =>
    (await Array.fromAsync(scanRecords(records, 'tasks', 't', { prefix: '', ...range }, call))).map(({ key }) => key);

  it('yields every record of the prefix with any page size', async () => {
    const records = await recordsWith(['a1', 'a2', 'a3', 'b1']);
    for (const page of [1, 2, 3, 4, 9]) {
      expect(await scan(records, { page })).toEqual(['a1', 'a2', 'a3', 'b1']);
      expect(await scan(records, { page, prefix: 'a' })).toEqual(['a1', 'a2', 'a3']);
      expect(await scan(records, { page, after: 'a2' })).toEqual(['a3', 'b1']);
    }
  });

  it('leaves out damaged records, and names them or fails at its end', async () => {
    const records = await recordsWith(['a1', 'a2', 'a3'], ['a1', 'a2']);
    const damaged: string[] = [];
    expect(await scan(records, { page: 1 }, { damaged })).toEqual(['a3']);
    expect(damaged).toEqual(['a1', 'a2']);
    const seen: string[] = [];
    const all = (async () => {
      for await (const { key } of scanRecords(records, 'tasks', 't', { prefix: '' }, {})) seen.push(key);
    })();
    await expect(all).rejects.toMatchObject({ code: 'CORRUPT_VALUE', field: 'a1' });
    expect(seen).toEqual(['a3']);
  });
});

it('a journal has no gaps', () => {
  const journal = { space: 'events', tenantId: 't', name: 'j' } as const;
  const entries = (...seqs: number[]) => seqs.map((seq) => ({ seq }) as JournalEntry);
  expect(() => checkDense(journal, 2, entries(3, 4))).not.toThrow();
  expect(() => checkDense(journal, 2, [])).not.toThrow();
  for (const [seqs, missing] of [
    [[4, 5], 3],
    [[3, 5], 4],
    [[3, 3], 4],
  ] as const)
    expect(() => checkDense(journal, 2, entries(...seqs))).toThrow(
      expect.objectContaining({ code: 'CORRUPT_VALUE', field: `j / ${missing}` }),
    );
});
