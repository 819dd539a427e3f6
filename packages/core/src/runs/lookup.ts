/** Finds the run that a call names, and its head. */
import { TidemarkError } from '../contracts/errors.ts';
import type { RunReadOptions } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunHead } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { tombstoneError } from './append.ts';
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
   * `AMBIGUOUS_RUN` when several tenants have it.
   */
  async find(runId: string, options: RunReadOptions | undefined, call: EngineCall): Promise<RunKey | null> {
    const known = this.knownKey(runId, options);
    if (known) return known;
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
