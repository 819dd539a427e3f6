/** Parts of a run that do not fit together are refused by name before anything is written. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunPart } from '../contracts/run-parts.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';

const EVENTS = 4;
let exported: RunPart;

beforeAll(async () => {
  const { runs } = memoryStore();
  for (let n = 1; n <= EVENTS; n++) await runs.handle('r').append('Progress', { n });
  [exported] = (await Array.fromAsync(runs.exportRun('r'))) as [RunPart];
});

/** The run in parts that end with these events. */
function parts(...ends: number[]): RunPart[] {
  return ends.map((end, at) => ({
    ...exported,
    events: exported.events.slice(ends[at - 1] ?? 0, end),
    isLast: end === EVENTS,
  }));
}

async function refuse(sent: unknown, field: string, store: Store = memoryStore()): Promise<void> {
  const refusal = { code: 'INVALID_ARGUMENT', field, outcome: 'rejected' };
  await expect(store.runs.restoreRun(sent as RunPart[])).rejects.toMatchObject(refusal);
}

describe('restoreRun', () => {
  it('takes a run in one part or several, and does nothing the second time', async () => {
    for (const ends of [[4], [1, 4], [1, 2, 3, 4]]) {
      const { runs } = memoryStore();
      const done = { tenantId: 'default', runId: 'r', lastEventSeq: EVENTS };
      expect(await runs.restoreRun(parts(...ends))).toEqual({ ...done, restored: true });
      expect(await runs.restoreRun(parts(...ends))).toEqual({ ...done, restored: false });
      expect(await runs.headSeq('r')).toBe(EVENTS);
    }
  });

  it.each([['text'], [7], [null], [undefined], [{}]])('refuses %j instead of parts', async (sent) => {
    await refuse(sent, 'parts');
  });

  it('rejects parts that end before the last event or continue after it', async () => {
    await refuse([], 'parts');
    await refuse(parts(2), 'parts');
    await refuse([...parts(4), ...parts(4)], 'parts');
  });

  it('rejects a part of another run, or without events', async () => {
    const [first, second] = parts(2, 4) as [RunPart, RunPart];
    await refuse([first, { ...second, run: { ...second.run, labels: { other: 'run' } } }], 'part.run');
    await refuse([first, { ...second, events: [] }], 'part.events');
  });

  it('rejects an end that is not where the run ends', async () => {
    const [first, second] = parts(2, 4) as [RunPart, RunPart];
    await refuse([{ ...first, isLast: true }], 'part.isLast');
    await refuse([first, { ...second, isLast: false }], 'part.isLast');
  });

  it('rejects gaps, repetitions and another order', async () => {
    const [first, second] = parts(2, 4) as [RunPart, RunPart];
    await refuse([{ ...exported, events: exported.events.slice(1) }], 'runSeq');
    await refuse([{ ...exported, events: exported.events.toSpliced(1, 1) }], 'runSeq');
    await refuse([first, { ...second, events: [first.events[1]!, ...second.events] }], 'runSeq');
    await refuse([{ ...exported, events: exported.events.toReversed() }], 'runSeq');
  });

  it("' refuses an event stored before the previous event or before its run", async () => {
    const early = (index: number) => ({
      ...exported,
      events: exported.events.map((event, at) =>
        at === index ? { ...event, persistedAt: '2020-01-01T00:00:00.000Z' } : event,
      ),
    });
    await refuse([early(0)], 'persistedAt');
    await refuse([early(2)], 'persistedAt');
  });

  it.each([
    ['status', { status: 'RUNNING' }],
    ['head', { head: 'a'.repeat(64) }],
    ['updatedAt', { updatedAt: '2026-01-01T00:00:00.001Z' }],
    ['labels', { labels: { a: 'b' } }],
    ['parentRunId', { parentRunId: 'other' }],
    ['projectId', { projectId: 'other' }],
    ['environmentId', { environmentId: 'other' }],
    ['planId', { planId: 'other' }],
    ['planVersion', { planVersion: 'other' }],
  ])('refuses a run whose %s differs from that of its events', async (field, change) => {
    await refuse([{ ...exported, run: { ...exported.run, ...change } }], field);
  });

  it('rejects options that are not true or false', async () => {
    for (const field of ['overDeleted', 'keepEncoded'])
      await expect(memoryStore().runs.restoreRun(parts(4), { [field]: 'yes' } as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        field,
      });
  });
});
