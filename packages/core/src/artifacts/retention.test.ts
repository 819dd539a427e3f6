import { describe, expect, it } from 'vitest';
import type { ArtifactRetention } from '../contracts/artifacts.ts';
import { DEFAULT_RETENTION } from '../tools/context.ts';
import { type Candidate, checkArtifactSize, planEviction } from './retention.ts';

const candidate = (id: string, sizeBytes: number, createdAt: number, accessedAt = createdAt): Candidate => {
  return { id, sizeBytes, createdAt, accessedAt };
};
const ROWS = [candidate('b', 10, 2, 9), candidate('a', 10, 1, 20), candidate('c', 10, 3, 3)];
const limits = (change: Partial<ArtifactRetention>): ArtifactRetention => ({ ...DEFAULT_RETENTION, ...change });

const planned = (...args: Parameters<typeof planEviction>) => planEviction(...args).map(({ id }) => id);

describe('planEviction (AGT-11)', () => {
  it('evicts nothing while everything fits', () => {
    expect(planned(10, { session: ROWS, trace: ROWS }, limits({ maxTraceBytes: 40, maxTraceCount: 4 }))).toEqual([]);
  });

  it('evicts the least recently used, or the oldest', () => {
    const trace = { session: null, trace: ROWS };
    expect(planned(15, trace, limits({ maxTraceBytes: 30, strategy: 'lru' }))).toEqual(['c', 'b']);
    expect(planned(15, trace, limits({ maxTraceBytes: 30, strategy: 'fifo' }))).toEqual(['a', 'b']);
    expect(planned(1, trace, limits({ maxTraceCount: 3, strategy: 'fifo' }))).toEqual(['a']);
  });

  it('counts references evicted for the trace as evicted from the session', () => {
    const both = { session: [...ROWS, candidate('d', 10, 0)], trace: ROWS };
    expect(planned(5, both, limits({ maxTraceCount: 3, maxSessionCount: 4, strategy: 'fifo' }))).toEqual(['a']);
  });

  it('throws when nothing may be evicted or eviction cannot make room', () => {
    const exceeded = expect.objectContaining({ code: 'LIMIT_EXCEEDED' });
    const session = { session: ROWS, trace: null };
    expect(() => planEviction(1, session, limits({ maxSessionCount: 3, strategy: 'none' }))).toThrow(exceeded);
    expect(() => planEviction(50, session, limits({ maxSessionBytes: 40 }))).toThrow(exceeded);
  });

  it('limits references with neither session nor trace, and frees a 64th of a large limit', () => {
    const among = (unscoped: Candidate[]) => ({ session: null, trace: null, unscoped });
    expect(planned(10, among(ROWS), limits({ maxUnscopedCount: 3 }))).toEqual(['c']);
    expect(planned(10, among(ROWS), limits({ maxUnscopedBytes: 25 }))).toEqual(['c', 'b']);
    const many = Array.from({ length: 6_400 }, (_, n) => candidate(`${n}`, 1, n));
    expect(planned(1, among(many.slice(1)), limits({ maxUnscopedCount: 6_400 }))).toEqual([]);
    expect(planned(1, among(many), limits({ maxUnscopedCount: 6_400 }))).toHaveLength(101);
    const full = expect.objectContaining({ code: 'LIMIT_EXCEEDED', field: 'scope' });
    expect(() => planEviction(1, among(ROWS), limits({ maxUnscopedCount: 3, strategy: 'none' }))).toThrow(full);
  });

  it('throws for an artifact above the maximum size', () => {
    checkArtifactSize(10, limits({ maxArtifactBytes: 10 }));
    const tooLarge = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' });
    expect(() => checkArtifactSize(11, limits({ maxArtifactBytes: 10 }))).toThrow(tooLarge);
  });
});

describe('the limits of a session and a trace', () => {
  const many = Array.from({ length: 2_000 }, (_, n) => candidate(`id-${String(n).padStart(4, '0')}`, 1, n));

  it.each(['session', 'trace'])('are used up to the last item of a %s, even if they are large', (owner) => {
    const neighbours = { session: null, trace: null, [owner]: many };
    const change = { [owner === 'session' ? 'maxSessionCount' : 'maxTraceCount']: 2_000 };
    expect(planned(1, neighbours, limits(change))).toEqual(['id-0000']);
  });

  it.each([
    ['session', 'scope.sessionId', 'at most 3 artifacts and 40 bytes in a session'],
    ['trace', 'scope.traceId', 'at most 3 artifacts and 40 bytes in a trace'],
    ['unscoped', 'scope', 'at most 3 artifacts and 40 bytes without session and trace'],
  ])('are named when nothing may be evicted: %s', (owner, field, rule) => {
    const none = limits({
      ...{ maxSessionCount: 3, maxSessionBytes: 40, maxTraceCount: 3, maxTraceBytes: 40 },
      ...{ maxUnscopedCount: 3, maxUnscopedBytes: 40, strategy: 'none' as const },
    });
    expect(() => planEviction(1, { session: null, trace: null, [owner]: ROWS }, none)).toThrow(
      expect.objectContaining({ code: 'LIMIT_EXCEEDED', field, rule, retryable: false }),
    );
  });
});

it('a 64th of a large limit in bytes is left free among references without session and trace', () => {
  const size = 2 ** 20;
  const most = 1_024 * size;
  const rows = Array.from({ length: 1_024 }, (_, n) => candidate(`id-${String(n).padStart(4, '0')}`, size, n));
  const evicted = (maxUnscopedBytes: number) =>
    planned(size, { session: null, trace: null, unscoped: rows }, limits({ maxUnscopedBytes })).length;
  expect([evicted(most + size), evicted(most), evicted(most - 1)]).toEqual([0, 17, 2]);
});
