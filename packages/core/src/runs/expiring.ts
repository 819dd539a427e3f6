/**
 * Hides expired runs from readers (RUN-21), and deletes them. Reading a run without the setting costs at most one read
 * of its head per minute, and no read if the reader has seen the run's first event.
 */
import { encodeCursor } from '../checks/json.ts';
import { laterLife } from '../checks/life.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import { EXPIRY_LABEL, type ExpiredRuns } from '../contracts/expiry.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import {
  type DamagedHead,
  isTombstone,
  type LogPage,
  type RunEngine,
  type RunHead,
  type RunQuery,
  type RunTombstone,
  type StoredRunEvent,
  type UpdatedRunsQuery,
} from '../engine/runs.ts';
import { type CleaningStep, sweeping } from '../tools/cleaner.ts';
import { halfTime } from '../tools/deadlines.ts';
import { LruMap } from '../tools/lru-map.ts';
import { withCalls } from '../tools/with-calls.ts';
import { expiryOf, hasExpired, mayExpire } from './expiry.ts';
import { createdPosition } from './list.ts';
import { firstEventId } from './removal.ts';

const MAX_LASTING_RUNS = 16_384;
const LASTING_FOR_MS = 60_000;
const EXAMINED_AT_ONCE = 500;

/** Whether a process has seen a run that may expire. Its cleaner looks for expired runs only if it has. */
export interface ExpiryUse {
  isUsed: boolean;
}

const NO_EVENTS: LogPage = { events: [], lead: [], before: null };

/** Returns an engine for readers, to which an expired run is a deleted run. */
export function hidingExpired(engine: RunEngine, expiry: ExpiryUse): RunEngine {
  const lasting = new LastingRuns();

  /** Whether a run has expired. Reads the clock only for a run that can expire now. */
  async function isOver(head: RunHead, call: EngineCall): Promise<boolean> {
    if (!mayExpire(head)) {
      lasting.note(head, head.life);
      return false;
    }
    expiry.isUsed = true;
    return hasExpired(head, expiryOf(head) === null ? 0 : await engine.now(head.tenantId, call));
  }

  async function isEventOver(run: RunKey, event: StoredRunEvent, call: EngineCall): Promise<boolean> {
    const life = event.life ?? 1;
    if (event.runSeq === 1 && !event.extra?.includes(EXPIRY_LABEL)) lasting.note(run, life);
    if (lasting.has(run, life)) return false;
    const head = await headUnlessDamaged(engine, run, call);
    if (head === null) return false;
    if (isTombstone(head)) return head.kind === 'deleted';
    return head.life === life && (await isOver(head, call));
  }

  /** Fills a page, because a page that is not full is the end of a list. */
  async function fullPage<Query extends Pick<RunQuery, 'limit'>>(
    query: Query,
    read: (part: Query) => Promise<RunHead[]>,
    following: (last: RunHead) => Partial<Query>,
    call: EngineCall,
  ): Promise<RunHead[]> {
    const kept: RunHead[] = [];
    for (let part = query; ; ) {
      const limit = query.limit - kept.length;
      const heads = await read({ ...part, limit });
      const expired = await expiredOf(engine, heads, call);
      kept.push(...heads.filter((head) => !expired.has(head)));
      if (heads.length < limit || kept.length >= query.limit) return kept;
      part = { ...query, ...following(heads.at(-1)!) };
    }
  }

  const { listByUpdate } = engine;
  return withCalls(engine, {
    async head(run, call) {
      const head = await engine.head(run, call);
      if (head === null || isTombstone(head) || !(await isOver(head, call))) return head;
      return tombstoneOf(head, expiryOf(head) ?? head.updatedAt);
    },

    async fetch(run, afterSeq, limit, call) {
      const page = await engine.fetch(run, afterSeq, limit, call);
      const first = page.lead[0] ?? page.events[0];
      return first !== undefined && (await isEventOver(run, first, call)) ? NO_EVENTS : page;
    },

    list: (query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void) =>
      fullPage(
        query,
        (part) => engine.list(part, call, onDamaged),
        (last) => ({ after: last }),
        call,
      ),

    ...(listByUpdate && {
      listByUpdate: (query: UpdatedRunsQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void) =>
        fullPage(
          query,
          (part) => listByUpdate.call(engine, part, call, onDamaged),
          (last) => ({ after: last }),
          call,
        ),
    }),
  });
}

/** Runs that do not expire in their current life. Remembered for a minute, because an erased id may be used again. */
class LastingRuns {
  readonly #runs = new LruMap<string, { life: number; until: number }>(MAX_LASTING_RUNS);

  note(run: RunKey, life: number): void {
    this.#runs.replace(keyOf(run), { life, until: performance.now() + LASTING_FOR_MS });
  }

  has(run: RunKey, life: number): boolean {
    const known = this.#runs.peek(keyOf(run));
    return known?.life === life && known.until > performance.now();
  }
}

function keyOf({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

/** Readers of a run whose head is damaged still receive its events. */
async function headUnlessDamaged(engine: RunEngine, run: RunKey, call: EngineCall) {
  try {
    return await engine.head(run, call);
  } catch (error) {
    if (isTidemarkError(error, 'CORRUPT_EVENT')) return null;
    throw error;
  }
}

function tombstoneOf({ life }: RunHead, at: number): RunTombstone {
  return { kind: 'deleted', at, ...laterLife(life) };
}

/** Returns the heads that have expired, each with the clock of its tenant, which is read once per page. */
async function expiredOf(
  engine: RunEngine,
  heads: readonly RunHead[],
  call: EngineCall,
): Promise<ReadonlyMap<RunHead, number>> {
  const clocks = new Map<string, number>();
  const expired = new Map<RunHead, number>();
  for (const head of heads) {
    if (!mayExpire(head)) continue;
    const { tenantId } = head;
    const now = clocks.get(tenantId) ?? (await engine.now(tenantId, call));
    clocks.set(tenantId, now);
    if (hasExpired(head, now)) expired.set(head, now);
  }
  return expired;
}

/** Whether a run has expired and is not deleted yet. */
export async function isExpired(engine: RunEngine, run: RunKey, call: EngineCall): Promise<boolean> {
  const head = await headUnlessDamaged(engine, run, call);
  return (
    head !== null && !isTombstone(head) && mayExpire(head) && hasExpired(head, await engine.now(run.tenantId, call))
  );
}

/** Deletes a run if it has expired. Returns whether this call deleted it. */
export async function deleteIfExpired(engine: RunEngine, run: RunKey, call: EngineCall): Promise<boolean> {
  const head = await headUnlessDamaged(engine, run, call);
  if (head === null || isTombstone(head) || !mayExpire(head)) return false;
  return deleteExpiredHead(engine, head, await engine.now(run.tenantId, call), call);
}

/** Deletes a run at the sequence that was read: an event that was stored in the meantime keeps it. */
async function deleteExpiredHead(engine: RunEngine, head: RunHead, now: number, call: EngineCall): Promise<boolean> {
  if (!hasExpired(head, now)) return false;
  const run = { tenantId: head.tenantId, runId: head.runId };
  const tombstone = { ...tombstoneOf(head, now), ...(await firstEventId(engine, run, call)) };
  const expected = { expectedSeq: head.seq, expectedRewrites: head.rewrites };
  try {
    return await engine.remove(run, tombstone, Object.assign(call, expected));
  } catch (error) {
    if (isTidemarkError(error, 'SEQ_CONFLICT', 'CONFLICT')) return false;
    throw error;
  }
}

type Position = NonNullable<RunQuery['after']>;

/**
 * Deletes expired runs every quarter of an hour, in a process that has seen such runs. It reads the heads of all runs;
 * a pass that runs out of time continues where it ended.
 */
export function expirySweep(engine: RunEngine, expiry: ExpiryUse): CleaningStep {
  let after: Position | undefined;
  return sweeping(async (call) => {
    if (!expiry.isUsed) return;
    const { next } = await deleteExpired(engine, { tenantId: undefined, after, limit: Number.POSITIVE_INFINITY }, call);
    after = createdPosition(next);
  });
}

/** The part of a sweep that one call of `deleteExpired` examines. */
export interface ExpirySweep {
  tenantId: string | undefined;
  after: Position | undefined;
  limit: number;
}

/** Examines runs from the oldest on, until it has deleted `limit` runs or used half of the time of its call. */
export async function deleteExpired(engine: RunEngine, sweep: ExpirySweep, call: EngineCall): Promise<ExpiredRuns> {
  const isLate = halfTime(call);
  let deleted = 0;
  for (let { after } = sweep; ; ) {
    const query = { tenantId: sweep.tenantId, order: 'oldest', after, limit: EXAMINED_AT_ONCE } as const;
    const heads = await engine.list(query, call);
    const expired = await expiredOf(engine, heads, call);
    for (const head of heads) {
      const at = expired.get(head);
      if (at !== undefined && (await deleteExpiredHead(engine, head, at, call))) deleted++;
      after = { createdAt: head.createdAt, tenantId: head.tenantId, runId: head.runId };
      if (deleted === sweep.limit || isLate())
        return { deleted, next: encodeCursor([head.createdAt, head.tenantId, head.runId]) };
    }
    if (heads.length < EXAMINED_AT_ONCE) return { deleted };
  }
}
