/**
 * Evicts artifacts to make room for a new one, while other clients store and read. Handles the limits of a session, of
 * a trace, and of artifacts with neither.
 */

import type { ArtifactEngine, ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';
import { type Candidate, planEviction } from './retention.ts';
import { type CheckedScope, isLive } from './scopes.ts';
import { roomsOf, type UnscopedRooms } from './unscoped-room.ts';

const NEIGHBOURS_PAGE = 1_000;
/** How often to plan again because concurrent calls changed the references. */
const MAX_PLANS = 5;

export class Eviction {
  readonly #context: Pick<StoreContext, 'clock' | 'retention'>;
  readonly #engine: ArtifactEngine;
  readonly #rooms: UnscopedRooms;

  constructor(context: Pick<StoreContext, 'clock' | 'retention'>, engine: ArtifactEngine) {
    this.#context = context;
    this.#engine = engine;
    this.#rooms = roomsOf(context.retention);
  }

  /**
   * Returns the references to evict for an artifact of this size. Throws `LIMIT_EXCEEDED` when eviction cannot make
   * room.
   */
  async plan(scope: CheckedScope, id: string, sizeBytes: number, call: EngineCall): Promise<Candidate[]> {
    const { owner, sessionId, traceId } = scope;
    const session = sessionId === null ? null : await this.#neighbours(owner, { sessionId }, id, call);
    const trace = traceId === null ? null : await this.#neighbours(owner, { traceId }, id, call);
    if (session === null && trace === null) return this.#planUnscoped(owner, id, sizeBytes, call);
    return planEviction(sizeBytes, { session, trace }, this.#context.retention);
  }

  /**
   * Plans for an artifact without session and trace. Does not read other artifacts while the store knows that there is
   * room.
   */
  async #planUnscoped(owner: string, id: string, sizeBytes: number, call: EngineCall): Promise<Candidate[]> {
    const { retention, clock } = this.#context;
    if (
      retention.maxUnscopedCount === Number.POSITIVE_INFINITY &&
      retention.maxUnscopedBytes === Number.POSITIVE_INFINITY
    )
      return [];
    const now = clock();
    if (this.#rooms.take(owner, sizeBytes, now)) return [];
    const unscoped = await this.#neighbours(owner, { isUnscoped: true }, id, call);
    const evicted = planEviction(sizeBytes, { session: null, trace: null, unscoped }, retention);
    const bytesOf = (rows: readonly Candidate[]) => rows.reduce((sum, row) => sum + row.sizeBytes, 0);
    const room = {
      count: retention.maxUnscopedCount - unscoped.length - 1 + evicted.length,
      bytes: retention.maxUnscopedBytes - bytesOf(unscoped) - sizeBytes + bytesOf(evicted),
    };
    this.#rooms.counted(owner, room, now);
    return evicted;
  }

  /** Evicts the planned references. If some were stored or read in the meantime, keeps those and plans again. */
  async carryOut(scope: CheckedScope, row: ArtifactRow, planned: Candidate[], call: EngineCall): Promise<void> {
    let evicted = planned;
    for (let plans = 1; evicted.length > 0 && plans <= MAX_PLANS; plans++) {
      let isComplete = true;
      for (const { id, ...seen } of evicted) {
        if (!(await this.#engine.deleteRef(scope.owner, id, seen, call))) isComplete = false;
      }
      if (isComplete) return;
      evicted = await this.plan(scope, row.id, row.sizeBytes, call);
    }
  }

  async #neighbours(owner: string, match: ArtifactMatch, id: string, call: EngineCall): Promise<Candidate[]> {
    const found: Candidate[] = [];
    const now = this.#context.clock();
    // A damaged reference is not counted, so that it cannot prevent storing a new artifact.
    const counted = { ...call, damaged: [] };
    for (let after: string | null = null; ; ) {
      const page: ArtifactRow[] = await this.#engine.listRefs(owner, match, { after, limit: NEIGHBOURS_PAGE }, counted);
      found.push(...page.filter((row) => row.id !== id && isLive(row, now)));
      if (page.length < NEIGHBOURS_PAGE) return found;
      after = page.at(-1)!.id;
    }
  }
}
