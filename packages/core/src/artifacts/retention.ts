/**
 * Retention of artifacts (AGT-11): decides which references a new artifact evicts. Only plans; nothing is written here.
 * With the strategy `none` the new artifact is rejected instead.
 */
import type { ArtifactRetention } from '../contracts/artifacts.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { ArtifactRow } from '../engine/artifacts.ts';

/** The properties of a reference that planning needs. */
export type Candidate = Pick<ArtifactRow, 'id' | 'sizeBytes' | 'createdAt' | 'accessedAt'>;

/**
 * The other live references of the artifact's session and trace; `null` when it has no session or trace. `unscoped`
 * contains the tenant's references without session and trace. It is `null` if the artifact has a session or trace, or
 * if there is known to be enough room.
 */
export interface Neighbours {
  session: readonly Candidate[] | null;
  trace: readonly Candidate[] | null;
  unscoped?: readonly Candidate[] | null;
}

type Owner = 'session' | 'trace' | 'unscoped';

interface Limit {
  bytes: number;
  count: number;
}

/** At or above these limits, an eviction makes more room than needed. */
const LARGE: Limit = { bytes: 1024 ** 3, count: 1_000 };
const SPARE = 64;

/** Throws `PAYLOAD_TOO_LARGE` for an artifact above the maximum size. */
export function checkArtifactSize(sizeBytes: number, retention: ArtifactRetention): void {
  if (sizeBytes <= retention.maxArtifactBytes) return;
  throw new TidemarkError('PAYLOAD_TOO_LARGE', `An artifact may have at most ${retention.maxArtifactBytes} bytes`, {
    field: 'bytes',
    rule: `at most ${retention.maxArtifactBytes} bytes`,
  });
}

/**
 * Returns the references to evict, in order, so that a new artifact fits into the limits of its trace and session, or
 * of artifacts with neither.
 */
export function planEviction(sizeBytes: number, neighbours: Neighbours, retention: ArtifactRetention): Candidate[] {
  const evicted = new Map<string, Candidate>();
  const { maxTraceBytes, maxTraceCount, maxSessionBytes, maxSessionCount } = retention;
  // The trace comes first, because references evicted for the trace also make room in the session.
  makeRoom('trace', sizeBytes, neighbours.trace, { bytes: maxTraceBytes, count: maxTraceCount });
  makeRoom('session', sizeBytes, neighbours.session, { bytes: maxSessionBytes, count: maxSessionCount });
  const { maxUnscopedBytes, maxUnscopedCount } = retention;
  makeRoom('unscoped', sizeBytes, neighbours.unscoped ?? null, { bytes: maxUnscopedBytes, count: maxUnscopedCount });
  return [...evicted.values()];

  function makeRoom(owner: Owner, size: number, candidates: readonly Candidate[] | null, limit: Limit): void {
    if (candidates === null) return;
    const left = candidates.filter(({ id }) => !evicted.has(id)).sort(byStrategy(retention.strategy));
    let bytes = left.reduce((sum, candidate) => sum + candidate.sizeBytes, size);
    let count = left.length + 1;
    const isAbove = (most: Limit) => bytes > most.bytes || count > most.count;
    if (!isAbove(limit)) return;
    const goal = owner === 'unscoped' ? belowLimit(limit) : limit;
    while (isAbove(goal)) {
      const next = retention.strategy === 'none' ? undefined : left.shift();
      if (!next && isAbove(limit)) throw limitExceeded(owner, limit);
      if (!next) return;
      evicted.set(next.id, next);
      bytes -= next.sizeBytes;
      count--;
    }
  }
}

/** Keeps a 64th of a large limit free, so that not every new artifact has to read and evict others. */
function belowLimit({ bytes, count }: Limit): Limit {
  return {
    bytes: bytes < LARGE.bytes ? bytes : bytes - Math.floor(bytes / SPARE),
    count: count < LARGE.count ? count : count - Math.floor(count / SPARE),
  };
}

/** Sorts references in the order of eviction. Ids break ties. */
function byStrategy(strategy: ArtifactRetention['strategy']): (a: Candidate, b: Candidate) => number {
  return (a, b) => {
    const byUse = strategy === 'lru' ? a.accessedAt - b.accessedAt : 0;
    return byUse || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1);
  };
}

function limitExceeded(owner: Owner, limit: Limit): TidemarkError {
  const within = owner === 'unscoped' ? 'without session and trace' : `in a ${owner}`;
  const rule = `at most ${limit.count} artifacts and ${limit.bytes} bytes ${within}`;
  return new TidemarkError('LIMIT_EXCEEDED', `The artifact does not fit: ${rule}; delete some or raise the limit`, {
    field: owner === 'unscoped' ? 'scope' : `scope.${owner}Id`,
    rule,
  });
}
