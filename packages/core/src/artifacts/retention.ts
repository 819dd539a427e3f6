/**
 * Retention of artifacts (AGT-11): which references a new artifact evicts. Pure planning, before anything is written.
 * With the strategy `none` nothing is evicted and the new artifact is refused.
 */
import type { ArtifactRetention } from '../contracts/artifacts.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';

/** The properties of a reference that planning needs. */
export type Candidate = Pick<ArtifactRow, 'id' | 'sizeBytes' | 'createdAt' | 'accessedAt'>;

/** The other live references of the artifact's session and trace; `null` when it has no session or trace. */
export interface Neighbours {
  session: readonly Candidate[] | null;
  trace: readonly Candidate[] | null;
}

/** Throws `PAYLOAD_TOO_LARGE` for an artifact above the maximum size. */
export function checkArtifactSize(sizeBytes: number, retention: ArtifactRetention): void {
  if (sizeBytes <= retention.maxArtifactBytes) return;
  throw new TidemarkError('PAYLOAD_TOO_LARGE', `An artifact may have at most ${retention.maxArtifactBytes} bytes`, {
    field: 'bytes',
    rule: `at most ${retention.maxArtifactBytes} bytes`,
  });
}

/** Returns the references to evict, in order, so that a new artifact fits its trace and its session. */
export function planEviction(sizeBytes: number, neighbours: Neighbours, retention: ArtifactRetention): Candidate[] {
  const evicted = new Map<string, Candidate>();
  const { maxTraceBytes, maxTraceCount, maxSessionBytes, maxSessionCount } = retention;
  // The trace first: references evicted for it also make room in the session.
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

/** Sorts references to evict first to the front. Ids break ties of times. */
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
