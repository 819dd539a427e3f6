/**
 * Watches records across moves. When the tenant has left its server, the watch continues on the new one. Changes that
 * were made there in the meantime are found by comparing with the old copy, which its mover keeps for a while.
 */
import { TidemarkError } from '@tidemark/core';
import { type RecordChange, type RecordSpace, type ScannedRecord, sleep } from '@tidemark/core/engine';
import type { Home } from './directory.ts';
import { LEASE_MS } from './placements.ts';
import type { Member, Routes } from './routes.ts';

/** How often a watch checks whether its tenant has left. The old copy is kept for several times as long. */
const LOOK_EVERY_MS = LEASE_MS;
const COMPARED_AT_ONCE = 200;
const COMPARE_LIMIT_MS = 5_000;

interface Watched {
  space: RecordSpace;
  tenantId: string;
  prefix: string;
}

/** A watch on one server, which ends when the tenant leaves it. */
interface Watch {
  member: Member;
  changes: AsyncIterable<RecordChange>;
  end(): Promise<void>;
}

/** Watches from now on, even if the changes are read later. */
export function watchAcrossMoves(
  routes: Routes,
  watched: Watched,
  signal: AbortSignal,
): AsyncGenerator<RecordChange, void, undefined> {
  const known = routes.placements.known(watched.tenantId);
  const first = known
    ? Promise.resolve(watchAt(routes, known, watched, signal))
    : routes.placements.homeOf(watched.tenantId, true).then((home) => watchAt(routes, home, watched, signal));
  first.catch(() => {});
  return changesOf(routes, first, watched, signal);
}

async function* changesOf(
  routes: Routes,
  first: Promise<Watch>,
  watched: Watched,
  signal: AbortSignal,
): AsyncGenerator<RecordChange, void, undefined> {
  let watch = await first;
  for (;;) {
    try {
      yield* watch.changes;
    } finally {
      await watch.end();
    }
    if (signal.aborted) return;
    const from = watch.member;
    watch = watchAt(routes, await routes.placements.homeOf(watched.tenantId, true), watched, signal);
    if (watch.member === from) continue;
    try {
      yield* missedChanges(from, watch.member, watched);
      if (!isKept(routes, watched.tenantId)) throw tooLate(watched.tenantId);
    } catch (error) {
      await watch.end();
      throw error;
    }
  }
}

function watchAt(routes: Routes, home: Home, { space, tenantId, prefix }: Watched, signal: AbortSignal): Watch {
  const member = routes.member(home.server);
  const left = new AbortController();
  const ended = AbortSignal.any([signal, left.signal]);
  const changes = member.engine.kv.watch(space, tenantId, prefix, ended);
  const looking = lookForMoves(routes, tenantId, home.version, left, ended);
  return {
    member,
    changes,
    end: async () => {
      left.abort();
      await looking;
    },
  };
}

/** Ends a watch once its tenant is on another server. */
async function lookForMoves(
  routes: Routes,
  tenantId: string,
  version: number,
  left: AbortController,
  ended: AbortSignal,
): Promise<void> {
  while (!ended.aborted) {
    await sleep(LOOK_EVERY_MS, ended);
    try {
      const home = await routes.placements.homeOf(tenantId, false);
      if (home.version !== version) left.abort();
    } catch {
      // The directory cannot be reached right now.
    }
  }
}

/** Whether the mover has kept the old copy until now. */
function isKept(routes: Routes, tenantId: string): boolean {
  return routes.placements.openMoves.some((move) => move.tenant === tenantId && move.phase === 'switched');
}

function tooLate(tenantId: string): TidemarkError {
  return new TidemarkError(
    'UNAVAILABLE',
    `Tenant ${tenantId} was moved, and its old copy has been removed; watch again`,
  );
}

/** Yields the changes made on the new server before its watch began, by comparing it with the old copy. */
async function* missedChanges(
  from: Member,
  to: Member,
  { space, tenantId, prefix }: Watched,
): AsyncGenerator<RecordChange, void, undefined> {
  const [before, after] = [records(from, space, tenantId, prefix), records(to, space, tenantId, prefix)];
  let [old, now] = [await before.next(), await after.next()];
  while (!old.done || !now.done) {
    const order = old.done ? 1 : now.done ? -1 : Buffer.compare(Buffer.from(old.value.key), Buffer.from(now.value.key));
    if (order < 0) yield { key: old.value!.key, type: 'delete', record: null };
    else if (order > 0 || old.value!.revision !== now.value!.revision) {
      const { key, fields, revision, ttlMs } = now.value!;
      yield { key, type: 'put', record: { fields, revision, ttlMs } };
    }
    if (order <= 0) old = await before.next();
    if (order >= 0) now = await after.next();
  }
}

async function* records(
  { engine }: Member,
  space: RecordSpace,
  tenantId: string,
  prefix: string,
): AsyncGenerator<ScannedRecord, undefined, undefined> {
  for (let after: string | null = null; ; ) {
    const call = { deadline: Date.now() + COMPARE_LIMIT_MS };
    const page: ScannedRecord[] = await engine.kv.scan(
      space,
      tenantId,
      { prefix, after, limit: COMPARED_AT_ONCE },
      call,
    );
    yield* page;
    if (page.length < COMPARED_AT_ONCE) return undefined;
    after = page.at(-1)!.key;
  }
}
