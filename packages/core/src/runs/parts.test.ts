/** Parts are small enough to be sent as a line, and nothing of a run is lost between them. */
import { describe, expect, it } from 'vitest';
import type { ExportedEvent, ExportedRun, RunPart } from '../contracts/run-parts.ts';
import { smallParts } from './parts.ts';

const MEGABYTE = 1024 * 1024;
const run = { runId: 'run' } as ExportedRun;
const events = (count: number, payload: string) =>
  Array.from({ length: count }, (_, n) => ({ runSeq: n + 1, payload, extra: null }) as ExportedEvent);
const seqs = (parts: RunPart[]) => parts.flatMap((part) => part.events.map(({ runSeq }) => runSeq));

describe('parts of a run', () => {
  it('stay whole while they are small', () => {
    const part = { run, events: events(1_000, '{}'), isLast: true };
    expect([...smallParts(part)]).toEqual([part]);
    expect([...smallParts({ run, events: [], isLast: false })]).toEqual([{ run, events: [], isLast: false }]);
  });

  it('are divided where payloads are large, and only the last of them ends the run', () => {
    const parts = [...smallParts({ run, events: events(20, 'x'.repeat(MEGABYTE)), isLast: true })];
    expect(parts.map((part) => part.events.length)).toEqual([4, 4, 4, 4, 4]);
    expect(parts.map(({ isLast }) => isLast)).toEqual([false, false, false, false, true]);
    expect(seqs(parts)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it('hold one event at least, however large', () => {
    const parts = [...smallParts({ run, events: events(2, 'x'.repeat(5 * MEGABYTE)), isLast: false })];
    expect(parts.map((part) => part.events.length)).toEqual([1, 1]);
    expect(parts.every(({ isLast }) => !isLast)).toBe(true);
  });
});
