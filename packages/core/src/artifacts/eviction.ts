/** Makes room for a new artifact in its session and trace, while other clients store and read. */

import type { ArtifactEngine, ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';
import { type Candidate, planEviction } from './retention.ts';
import { type CheckedScope, isLive } from './scopes.ts';

const NEIGHBOURS_PAGE = 1_000;
/** How often to plan again because concurrent calls changed the references. */
const MOST_PLANS = 5;

export class Eviction {
  readonly #context: Pick<StoreContext, 'clock' | 'retention'>;
  readonly #engine: ArtifactEngine;

  constructor(context: Pick<StoreContext, 'clock' | 'retention'>, engine: ArtifactEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /**
   * Returns the references to evict for an artifact of this size. Throws `LIMIT_EXCEEDED` when eviction cannot make
   * room.
   */
  async plan(scope: CheckedScope, id: string, sizeBytes: number, call: EngineCall): Promise<Candidate[]> {
    const { owner, sessionId, traceId } = scope;
    const session = sessionId === null ? null : await this.#neighbours(owner, { sessionId }, id, call);
    const trace = traceId === null ? null : await this.#neighbours(owner, { traceId }, id, call);
    return planEviction(sizeBytes, { session, trace }, this.#context.retention);
  }

  /** Evicts the planned references. Keeps those stored or read since, and plans others instead. */
  async carryOut(scope: CheckedScope, row: ArtifactRow, planned: Candidate[], call: EngineCall): Promise<void> {
    let evicted = planned;
    for (let plans = 1; evicted.length > 0 && plans <= MOST_PLANS; plans++) {
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
    // A damaged neighbour is not counted and must not prevent storing.
    const counted = { ...call, damaged: [] };
    for (let after: string | null = null; ; ) {
      const page: ArtifactRow[] = await this.#engine.listRefs(owner, match, { after, limit: NEIGHBOURS_PAGE }, counted);
      found.push(...page.filter((row) => row.id !== id && isLive(row, now)));
      if (page.length < NEIGHBOURS_PAGE) return found;
      after = page.at(-1)!.id;
    }
  }
}
