/** Parts are small enough to be sent as one line, and together they contain all events. */
import { describe, expect, it } from 'vitest';
import type { ExportedEvent, ExportedRun, RunPart } from '../contracts/run-parts.ts';
import { smallParts } from './parts.ts';

const MEGABYTE = 1024 * 1024;
const run = { runId: 'run' } as ExportedRun;
const events = (count: number, payload: string) =>
  Array.from({ length: count }, (_, n) => ({ runSeq: n + 1, payload, extra: null }) as ExportedEvent);
const seqs = (parts: RunPart[]) => parts.flatMap((part) => part.events.map(({ runSeq }) => runSeq));

describe('parts of a run', () => {
  it('are not split while they are small', () => {
    const part = { run, events: events(1_000, '{}'), isLast: true };
    expect([...smallParts(part)]).toEqual([part]);
    expect([...smallParts({ run, events: [], isLast: false })]).toEqual([{ run, events: [], isLast: false }]);
  });

  it('are split when payloads are large, and only the last one has isLast', () => {
    const parts = [...smallParts({ run, events: events(20, 'x'.repeat(MEGABYTE)), isLast: true })];
    expect(parts.map((part) => part.events.length)).toEqual([4, 4, 4, 4, 4]);
    expect(parts.map(({ isLast }) => isLast)).toEqual([false, false, false, false, true]);
    expect(seqs(parts)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('contain at least one event, even a very large one', () => {
    const parts = [...smallParts({ run, events: events(2, 'x'.repeat(5 * MEGABYTE)), isLast: false })];
    expect(parts.map((part) => part.events.length)).toEqual([1, 1]);
    expect(parts.every(({ isLast }) => !isLast)).toBe(true);
  });
});
