/**
 * Retention of artifacts (AGT-11): which references give way to a new one. Pure planning, before anything is
 * written; with the strategy `none` nothing gives way and the new one is refused.
 */
import type { ArtifactRetention } from '../contracts/artifacts.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';

/** What planning needs to know of a reference. */
export type Candidate = Pick<ArtifactRow, 'id' | 'sizeBytes' | 'createdAt' | 'accessedAt'>;

/** The live references that share the new one's session and trace, without itself; `null` when it has none. */
export interface Neighbours {
  session: readonly Candidate[] | null;
  trace: readonly Candidate[] | null;
}

/** Refuses an artifact that is larger than any may be. */
export function checkArtifactSize(sizeBytes: number, retention: ArtifactRetention): void {
  if (sizeBytes <= retention.maxArtifactBytes) return;
  throw new TidemarkError('PAYLOAD_TOO_LARGE', `An artifact may have at most ${retention.maxArtifactBytes} bytes`, {
    field: 'bytes',
    rule: `at most ${retention.maxArtifactBytes} bytes`,
  });
}

/** References to evict, in order, so that a new artifact fits its trace and its session. */
export function planEviction(sizeBytes: number, neighbours: Neighbours, retention: ArtifactRetention): Candidate[] {
  const evicted = new Map<string, Candidate>();
  const { maxTraceBytes, maxTraceCount, maxSessionBytes, maxSessionCount } = retention;
  // The trace first: what goes for its sake makes room in the session too.
  makeRoom('trace', sizeBytes, neighbours.trace, { bytes: maxTraceBytes, count: maxTraceCount });
  makeRoom('session', sizeBytes, neighbours.session, { bytes: maxSessionBytes, count: maxSessionCount });
  return [...evicted.values()];

  function makeRoom(
    owner: 'session' | 'trace',
    size: number,
    candidates: readonly Candidate[] | null,
    limit: { bytes: number; count: number },
  ): void {
    if (candidates === null) return;
    const left = candidates.filter(({ id }) => !evicted.has(id)).sort(byStrategy(retention.strategy));
    let bytes = left.reduce((sum, candidate) => sum + candidate.sizeBytes, size);
    let count = left.length + 1;
    while (bytes > limit.bytes || count > limit.count) {
      const next = retention.strategy === 'none' ? undefined : left.shift();
      if (!next) throw limitExceeded(owner, limit);
      evicted.set(next.id, next);
      bytes -= next.sizeBytes;
      count--;
    }
  }
}

/** Those that go first come first; ids settle what times leave open. */
function byStrategy(strategy: ArtifactRetention['strategy']): (a: Candidate, b: Candidate) => number {
  return (a, b) => {
    const byUse = strategy === 'lru' ? a.accessedAt - b.accessedAt : 0;
    return byUse || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  };
}

function limitExceeded(owner: 'session' | 'trace', limit: { bytes: number; count: number }): TidemarkError {
  const rule = `at most ${limit.count} artifacts and ${limit.bytes} bytes in a ${owner}`;
  return new TidemarkError('LIMIT_EXCEEDED', `The artifact does not fit: ${rule}; delete some or raise the limit`, {
    field: `scope.${owner}Id`,
    rule,
  });
}
