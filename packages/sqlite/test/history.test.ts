/** The history checker must reject wrong histories: each of these is broken by hand. */
import { describe, expect, it } from 'vitest';
import { checkHistory, type LogEvent, type Note, type ProblemKind, unsettled } from '../../../faults/history.ts';

function sent(key: string, more: { run?: string; batch?: string } = {}): Note {
  return { kind: 'sent', run: 'r', key, eventId: `id-${key}`, ...more };
}

function acked(key: string, runSeq: number, run = 'r'): Note {
  return { kind: 'acked', run, key, eventId: `id-${key}`, runSeq };
}

function stored(key: string, runSeq: number, more: Partial<LogEvent> = {}): LogEvent {
  return { key, runSeq, eventId: `id-${key}`, persistedAt: `2026-01-01T00:00:00.00${runSeq}Z`, ...more };
}

function check(notes: Note[], log: LogEvent[]) {
  return checkHistory(notes, new Map([['r', log]]));
}

/** Two acknowledged writes and one of unknown outcome, which was stored. */
const NOTES = [sent('a'), acked('a', 1), sent('b'), acked('b', 2), sent('c')];
const LOG = [stored('a', 1), stored('b', 2), stored('c', 3)];

describe('checkHistory accepts', () => {
  it('a log that holds the acknowledged writes, with or without a write of unknown outcome (GEN-8)', () => {
    expect(check(NOTES, LOG)).toEqual({ acked: 2, unknown: 1, unknownStored: 1, problems: [] });
    expect(check(NOTES, LOG.slice(0, 2))).toEqual({ acked: 2, unknown: 1, unknownStored: 0, problems: [] });
  });

  it('a write whose retry returned the same position (RUN-4)', () => {
    const notes = [sent('a'), sent('a'), acked('a', 1), sent('a'), acked('a', 1)];
    expect(check(notes, [stored('a', 1)]).problems).toEqual([]);
  });

  it('concurrent writes in either order, and a batch that is missing as a whole', () => {
    const notes = [
      sent('a'),
      sent('b'),
      acked('b', 1),
      acked('a', 2),
      sent('c', { batch: 'x' }),
      sent('d', { batch: 'x' }),
    ];
    expect(check(notes, [stored('b', 1), stored('a', 2)]).problems).toEqual([]);
  });

  it('a rejected write that is absent, and one that was retried after the rejection', () => {
    const rejected: Note = { kind: 'rejected', run: 'r', key: 'a', eventId: 'id-a', code: 'STORAGE_FULL' };
    expect(check([sent('a'), rejected], [])).toMatchObject({ unknown: 0, problems: [] });
    expect(check([sent('a'), rejected, sent('a'), acked('a', 1)], [stored('a', 1)]).problems).toEqual([]);
  });
});

describe('checkHistory rejects', () => {
  const broken: [string, ProblemKind, Note[], LogEvent[]][] = [
    ['an acknowledged write that is missing at the end', 'lost', NOTES, LOG.slice(0, 1)],
    ['an acknowledged write whose sequence another write has', 'lost', NOTES, [stored('a', 1), stored('c', 2)]],
    ['a run that is gone altogether', 'lost', NOTES, []],
    ['a key that is stored twice', 'duplicated', NOTES, [...LOG, stored('b', 4, { eventId: 'id-other' })]],
    ['an event id that is stored twice', 'duplicated', NOTES, [LOG[0]!, LOG[1]!, stored('c', 3, { eventId: 'id-b' })]],
    ['a write at another sequence than was acknowledged', 'moved', NOTES, [stored('b', 1), stored('a', 2)]],
    [
      'a retry acknowledged with another sequence than the first time',
      'moved',
      [...NOTES, sent('b'), acked('b', 3)],
      LOG,
    ],
    [
      'an event with another id than was sent',
      'altered',
      NOTES,
      [LOG[0]!, stored('b', 2, { eventId: 'id-x' }), LOG[2]!],
    ],
    ['a hole in the sequences', 'gap', NOTES, [LOG[0]!, LOG[1]!, stored('c', 4)]],
    ['a log that does not begin with 1', 'gap', [sent('c')], [stored('c', 2)]],
    ['two events with one sequence', 'gap', NOTES, [LOG[0]!, LOG[1]!, stored('c', 2)]],
    ['a log that is read out of order', 'gap', NOTES, [LOG[1]!, LOG[0]!, LOG[2]!]],
    ['an event that nobody sent', 'phantom', NOTES, [...LOG, stored('z', 4)]],
    [
      'a rejected write that was stored',
      'rejected-but-stored',
      [sent('a'), { kind: 'rejected', run: 'r', key: 'a', eventId: 'id-a', code: 'STORAGE_FULL' }],
      [stored('a', 1)],
    ],
    ['half a batch', 'torn-batch', [sent('a', { batch: 'x' }), sent('b', { batch: 'x' })], [stored('a', 1)]],
    [
      'a batch with another event in its middle',
      'torn-batch',
      [sent('a', { batch: 'x' }), sent('b', { batch: 'x' }), sent('c')],
      [stored('a', 1), stored('c', 2), stored('b', 3)],
    ],
    [
      'time that goes back along the log',
      'time-went-back',
      NOTES,
      [LOG[0]!, stored('b', 2, { persistedAt: '2025-12-31T00:00:00.000Z' }), LOG[2]!],
    ],
    [
      'a write before one that was acknowledged before it was sent',
      'out-of-order',
      [sent('a'), acked('a', 2), sent('b')],
      [stored('b', 1), stored('a', 2)],
    ],
  ];

  it.each(broken)('%s', (_, kind, notes, log) => {
    expect(check(notes, log).problems.map((problem) => problem.kind)).toContain(kind);
  });

  it('a run that no writer wrote', () => {
    const logs = new Map([['stranger', [stored('a', 1)]]]);
    expect(checkHistory([], logs).problems).toMatchObject([{ kind: 'phantom', run: 'stranger' }]);
  });

  it('inconsistent notes: an acknowledgement of a write that was never sent', () => {
    expect(() => check([acked('a', 1)], [stored('a', 1)])).toThrow('before it was sent');
  });
});

describe('unsettled', () => {
  it('returns the unanswered calls, batches as one', () => {
    const unknown: Note = { kind: 'unknown', run: 'r', key: 'c', eventId: 'id-c', code: 'OUTCOME_UNKNOWN' };
    const notes = [...NOTES, unknown, sent('d', { batch: 'x' }), sent('e', { batch: 'x' })];
    expect(unsettled(notes).map(({ batch, writes }) => [batch, writes.map(({ key }) => key)])).toEqual([
      [undefined, ['c']],
      ['x', ['d', 'e']],
    ]);
  });
});
