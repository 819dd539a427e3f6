/** Runs an erasure as small bounded writes and reports progress after each. An erasure can always be retried. */
import { checkInteger } from '../checks/numbers.ts';
import type { ErasureOptions, ErasureReport, TenantPart } from '../contracts/admin.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';

/** The maximum number of values that a step removes. */
export const STEP = 200;
/** Long, because a step removes whole values and a run can have many events. */
const STEP_TIMEOUT_MS = 60_000;

export class Erasure {
  readonly report: ErasureReport;
  readonly #context: StoreContext;
  readonly #options: ErasureOptions;

  constructor(context: StoreContext, of: Omit<ErasureReport, 'removed'>, given: ErasureOptions | undefined) {
    const options = given ?? {};
    const { onProgress, timeoutMs } = options;
    if (onProgress !== undefined && typeof onProgress !== 'function')
      throw invalidArgument('onProgress', 'a function', onProgress);
    if (timeoutMs !== undefined) checkInteger(timeoutMs, 'timeoutMs', 1);
    this.#context = context;
    this.#options = { ...options, timeoutMs: timeoutMs ?? STEP_TIMEOUT_MS };
    this.report = { ...of, removed: {} };
  }

  /** Runs one step with its own time limit, confined to the tenant. */
  step<T>(take: (call: EngineCall) => Promise<T>): Promise<T> {
    const { tenantId, sessionId } = this.report;
    const write =
      sessionId === undefined
        ? this.#context.writeOf('admin', 'eraseTenant', [tenantId])
        : this.#context.writeOf('admin', 'eraseSession', [sessionId, { tenantId }]);
    return this.#context.write(this.#options, write, (call) => take(Object.assign(call, { tenantId })));
  }

  /** Repeats a step until it removes nothing. */
  async all(part: TenantPart, take: (call: EngineCall) => Promise<number>): Promise<void> {
    while (this.count(part, await this.step(take)) > 0);
  }

  /** Adds to the report and calls `onProgress`. */
  count(part: TenantPart, removed: number): number {
    if (removed === 0) return 0;
    this.report.removed[part] = (this.report.removed[part] ?? 0) + removed;
    this.#options.onProgress?.({ ...this.report, removed: { ...this.report.removed } });
    return removed;
  }
}
