/** Which run a call speaks of, and whether it is still there. */
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

  /** The run a read speaks of: of the view's tenant, the named tenant, or the one tenant that has it (GEN-10). */
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

  /** The run where its tenant is known without looking. */
  knownKey(runId: string, options: RunReadOptions | undefined): RunKey | null {
    const tenantId = checkTenant(this.#view, options?.tenantId);
    return tenantId === null ? null : { tenantId, runId };
  }

  liveHead(run: RunKey, call: EngineCall): Promise<RunHead | null> {
    return liveHead(this.#engine, run, call);
  }
}

/** The head of a live run; `null` for one that is unknown or was deleted. Throws `RUN_ARCHIVED` for an archived one (RUN-15). */
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
