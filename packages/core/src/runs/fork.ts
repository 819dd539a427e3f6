/**
 * `forkRun`: copies a run up to a sequence into a new one. Ids and keys of the copies are derived from the origin, so a
 * retried fork finds its own events, and an interrupted one continues where it stopped.
 */
import { checkInteger } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { ForkOptions, ForkResult, RunStore } from '../contracts/runs.ts';
import { sha256Hex } from '../hash.ts';
import { withWrite, writeCall } from '../tools/writes.ts';
import { derivedKeyOf } from './keys.ts';
import { runNotFound } from './view.ts';

/** How many events are copied in one commit. */
const COPY_STEP = 200;

type ForkableRuns = Pick<RunStore, 'appendEvents' | 'fetchEvents' | 'headSeq'>;

/** Forks a run. `view` is the tenant of the view it is called on, `null` for the operator's view. */
export async function forkRun(
  runs: ForkableRuns,
  view: string | null,
  runId: string,
  options: ForkOptions,
): Promise<ForkResult> {
  const toRunId = checkId(options?.toRunId, 'toRunId');
  if (toRunId === runId) throw invalidArgument('toRunId', 'another id than that of the run', toRunId);
  if (options.atSeq !== undefined) checkInteger(options.atSeq, 'atSeq', 1);
  const call: CallOptions = { signal: options.signal, timeoutMs: options.timeoutMs };
  const [first] = await runs.fetchEvents(runId, { ...call, tenantId: options.tenantId, limit: 1 });
  if (!first) throw runNotFound(runId);
  const origin = { ...call, tenantId: first.tenantId };
  const headSeq = await runs.headSeq(runId, origin);
  const atSeq = options.atSeq ?? headSeq;
  if (atSeq > headSeq) throw invalidArgument('atSeq', `at most ${headSeq}, the last of the run`, atSeq);
  const fork = new Fork(runs, { tenantId: first.tenantId, runId, toRunId, atSeq }, call);
  try {
    return await fork.complete();
  } catch (error) {
    // A retry must use the resolved sequence for the whole fork, because the original run may have grown since.
    const resolved = { ...options, tenantId: first.tenantId, atSeq };
    throw withWrite(error, writeCall(view, 'runs', 'forkRun', [runId, resolved]));
  }
}

interface ForkPlan {
  tenantId: string;
  runId: string;
  toRunId: string;
  atSeq: number;
}

class Fork {
  readonly #runs: ForkableRuns;
  readonly #plan: ForkPlan;
  readonly #call: CallOptions;

  constructor(runs: ForkableRuns, plan: ForkPlan, call: CallOptions) {
    this.#runs = runs;
    this.#plan = plan;
    this.#call = call;
  }

  async complete(): Promise<ForkResult> {
    const { tenantId, runId, toRunId, atSeq } = this.#plan;
    let copied = 0;
    for (let copiedTo = await this.#copiedTo(); copiedTo < atSeq; ) {
      try {
        const results = await this.#copyAfter(copiedTo);
        copied += results.filter((result) => result.persisted).length;
        copiedTo += results.length;
      } catch (error) {
        if (!isTidemarkError(error, 'SEQ_CONFLICT')) throw error;
        // Another process wrote to the target. If it made the same fork, continue; otherwise `#copiedTo` throws.
        copiedTo = await this.#copiedTo();
      }
    }
    return { tenantId, runId: toRunId, forkedFrom: { runId, atSeq }, copied };
  }

  /** Returns the number of stored events of the fork. Throws `CONFLICT` when the target run is not this fork. */
  async #copiedTo(): Promise<number> {
    const { tenantId, toRunId, atSeq } = this.#plan;
    const stored = Math.min(atSeq, await this.#runs.headSeq(toRunId, { ...this.#call, tenantId }));
    if (stored === 0) return 0;
    // Copies are written in order with a fence, so if the last one is ours, all earlier ones are too.
    const [copy] = await this.#events(toRunId, stored - 1, 1);
    const [original] = await this.#events(this.#plan.runId, stored - 1, 1);
    if (original && copy?.eventId === this.#eventIdOf(original)) return stored;
    throw this.#conflict(stored);
  }

  #conflict(current: number): TidemarkError {
    const { toRunId } = this.#plan;
    const message = `Run ${JSON.stringify(toRunId)} exists and is not this fork; fork to another id`;
    const rule = 'a new run, or this very fork';
    return new TidemarkError('CONFLICT', message, { field: 'toRunId', rule, current, runId: toRunId });
  }

  async #copyAfter(seq: number): Promise<AppendResult[]> {
    const originals = await this.#events(this.#plan.runId, seq, Math.min(COPY_STEP, this.#plan.atSeq - seq));
    if (originals.length === 0) throw runNotFound(this.#plan.runId);
    const copies = originals.map((original) => this.#copyOf(original));
    const results = await this.#runs.appendEvents(copies, { ...this.#call, expectedSeq: seq });
    const stray = results.find((result, index) => result.runSeq !== seq + 1 + index);
    if (stray) throw this.#conflict(stray.runSeq);
    return results;
  }

  #events(runId: string, afterSeq: number, limit: number): Promise<RunEventRecord[]> {
    return this.#runs.fetchEvents(runId, { ...this.#call, tenantId: this.#plan.tenantId, afterSeq, limit });
  }

  #copyOf({ runSeq, persistedAt: _, redacted: __, ...original }: RunEventRecord): RunEventInput {
    const { runId, toRunId, atSeq } = this.#plan;
    // A derived key is derived again for the fork, so that a completed step stays completed there.
    const isDerived = original.idempotencyKey === derivedKeyOf(original);
    return {
      ...original,
      eventId: this.#eventIdOf(original),
      runId: toRunId,
      idempotencyKey: (isDerived && derivedKeyOf({ ...original, runId: toRunId })) || original.idempotencyKey,
      ...(runSeq === 1 ? { parentRunId: runId } : {}),
      forkedFrom: { runId, runSeq, atSeq },
    };
  }

  #eventIdOf(original: Pick<RunEventRecord, 'eventId'>): string {
    const { tenantId, runId, toRunId, atSeq } = this.#plan;
    const hex = sha256Hex(JSON.stringify(['tidemark-fork-1', tenantId, runId, toRunId, atSeq, original.eventId]));
    const variant = '89ab'[Number.parseInt(hex[16]!, 16) & 3]!;
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }
}
