/** Finds the run of a call, and its head. */
import { isOfLife } from '../checks/life.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunLifeOptions, RunReadOptions } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunHead } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { tombstoneError } from './lives.ts';
import { checkTenant, type RunView } from './view.ts';

export class RunLookup {
  readonly #engine: RunEngine;
  readonly #view: RunView;

  constructor(engine: RunEngine, view: RunView) {
    this.#engine = engine;
    this.#view = view;
  }

  /**
   * Returns the run of the view's tenant, of the named tenant, or of the only tenant that has this id (GEN-10). Throws
   * `AMBIGUOUS_RUN` when several tenants have it. Returns `null` if the run's current life is not the named one, even
   * if the current life is archived.
   */
  async find(runId: string, options: RunLifeOptions | undefined, call: EngineCall): Promise<RunKey | null> {
    const run = this.knownKey(runId, options) ?? (await this.#only(runId, call));
    if (run === null || options?.life === undefined) return run;
    const head = await this.#engine.head(run, call);
    return head === null || isOfLife(head.life, options.life) ? run : null;
  }

  async #only(runId: string, call: EngineCall): Promise<RunKey | null> {
    const tenants = await this.#engine.tenantsOf(runId, call);
    if (tenants.length > 1) {
      throw new TidemarkError(
        'AMBIGUOUS_RUN',
        `Several tenants have a run ${JSON.stringify(runId)}; name one with tenantId or forTenant()`,
        {
          field: 'tenantId',
          rule: 'given when several tenants have a run of this id',
          runId,
        },
      );
    }
    return tenants[0] === undefined ? null : { tenantId: tenants[0], runId };
  }

  /** Returns the run if the view or the options name its tenant. Does not read the store. */
  knownKey(runId: string, options: RunReadOptions | undefined): RunKey | null {
    const tenantId = checkTenant(this.#view, options?.tenantId);
    return tenantId === null ? null : { tenantId, runId };
  }

  liveHead(run: RunKey, call: EngineCall): Promise<RunHead | null> {
    return liveHead(this.#engine, run, call);
  }
}

/**
 * Returns the head of a live run, or `null` for an unknown or deleted one. Throws `RUN_ARCHIVED` if archived (RUN-15).
 */
export async function liveHead(
  engine: Pick<RunEngine, 'head'>,
  run: RunKey,
  call: EngineCall,
): Promise<RunHead | null> {
  const head = await engine.head(run, call);
  if (!isTombstone(head)) return head;
  if (head.kind !== 'deleted') throw tombstoneError(run.runId, head);
  return null;
}
