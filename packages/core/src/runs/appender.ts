/** Appends events: checks them, groups them by run, applies the fence and, if requested, checks transitions. */

import { sameJson } from '../checks/json.ts';
import { checkInteger, timeText } from '../checks/numbers.ts';
import { checkOptionalBoolean } from '../checks/text.ts';
import type { Payloads } from '../codec/payloads.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { PlacedEvent, PreparedEvent, RunAppend, RunEngine, StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { refusalOf } from '../tools/outcomes.ts';
import { carriedWrite, type WriteCall } from '../tools/writes.ts';
import { payloadHashOf } from './chain.ts';
import { payloadContext } from './event-forms.ts';
import { type Prepared, prepareEvent } from './prepare.ts';
import type { SnapshotReader } from './snapshots.ts';
import type { RunView } from './view.ts';

/** Returns an `append` that also writes projection states, or `null` when the options name no projections. */
export type InlineAppends = (engine: RunEngine, options: AppendOptions | undefined) => Pick<RunEngine, 'append'> | null;

export class EventAppender {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  readonly #snapshots: SnapshotReader;
  readonly #inlineAppends: InlineAppends;

  constructor(
    context: StoreContext,
    engine: RunEngine,
    view: RunView,
    snapshots: SnapshotReader,
    inlineAppends: InlineAppends,
  ) {
    this.#context = context;
    this.#engine = engine;
    this.#view = view;
    this.#snapshots = snapshots;
    this.#inlineAppends = inlineAppends;
  }

  /** Appends events. `write` is the public call that requested the append; errors carry it. */
  async append(
    events: readonly RunEventInput[],
    options: AppendOptions | undefined,
    write: WriteCall,
  ): Promise<AppendResult[]> {
    const prepared = events.map((event) => prepareEvent(this.#context, event, this.#view));
    const appends = groupByRun(prepared);
    if (options?.expectedSeq !== undefined) {
      checkInteger(options.expectedSeq, 'expectedSeq', 0);
      if (appends.length > 1) throw invalidArgument('expectedSeq', 'used with events of a single run');
      appends[0]!.expectedSeq = options.expectedSeq;
    }
    const appender = this.#inlineAppends(this.#engine, options) ?? this.#engine;
    const rejects = checkOptionalBoolean(options?.rejectInvalidTransitions, 'rejectInvalidTransitions');
    return this.#context.write(options, write, async (call) => {
      const outcomes = rejects
        ? await this.#appendValid(appends, appender, call)
        : await appender.append(appends, Object.assign(call, { transaction: options?.transaction }));
      const refusals = outcomes.filter((outcome) => outcome instanceof Error);
      if (refusals.length > 0) throw refusalOf(refusals, outcomes.some(isWritten), carriedWrite(write));
      return toResults(this.#context.payloads, prepared, appends, outcomes as PlacedEvent[][]);
    });
  }

  /** Appends only events that the transition table allows, fenced on the state they were checked against (RUN-11). */
  async #appendValid(
    appends: readonly RunAppend[],
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    // Check all runs before writing the first, so that most refusals leave nothing written.
    const checked: number[] = [];
    for (const append of appends) checked.push(await this.#checkTransitions(append, call));
    for (const [at, append] of appends.entries()) {
      const outcome = await this.#appendOneValid(append, checked[at]!, appender, call).catch((error: Error) => error);
      outcomes.push(outcome);
      if (outcome instanceof Error) break;
    }
    return outcomes;
  }

  async #appendOneValid(
    append: RunAppend,
    checkedAt: number,
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<Outcome> {
    for (let seq = checkedAt; ; seq = await this.#checkTransitions(append, call)) {
      const [outcome] = await appender.append([{ ...append, expectedSeq: append.expectedSeq ?? seq }], call);
      if (!isTidemarkError(outcome, 'SEQ_CONFLICT') || append.expectedSeq !== undefined) return outcome!;
    }
  }

  /** Throws `INVALID_TRANSITION` for new events that are not allowed. Returns the run's last sequence. */
  async #checkTransitions(append: RunAppend, call: EngineCall): Promise<number> {
    const fresh: PreparedEvent[] = [];
    for (const event of append.events) if (!(await this.#isStored(append, event, call))) fresh.push(event);
    return this.#snapshots.checkTransitions(append.run, fresh, call);
  }

  /** Appends with an impossible fence, which only a duplicate passes (RUN-7). Writes nothing either way. */
  async #isStored(append: RunAppend, event: PreparedEvent, call: EngineCall): Promise<boolean> {
    const [outcome] = await this.#engine.append([{ ...append, events: [event], expectedSeq: -1 }], call);
    if (isTidemarkError(outcome, 'SEQ_CONFLICT')) return false;
    if (outcome instanceof Error) throw outcome;
    return outcome!.length === 1;
  }
}

/** The positions of one run's events, or the error that kept all of them from being written. */
type Outcome = PlacedEvent[] | Error;

function isWritten(outcome: Outcome): boolean {
  return !(outcome instanceof Error) && outcome.some(({ duplicateOf }) => duplicateOf === null);
}

/** Returns one append per run, with each run's events in input order. */
function groupByRun(prepared: readonly Prepared[]): RunAppend[] {
  if (prepared.length === 1) {
    const { run, event, labels, parentRunId } = prepared[0]!;
    return [{ run, events: [event], labels, parentRunId }];
  }
  const appends = new Map<string, RunAppend>();
  for (const { run, event, labels, parentRunId } of prepared) {
    const key = `${run.tenantId}\0${run.runId}`;
    const append = appends.get(key);
    if (append) append.events.push(event);
    else appends.set(key, { run, events: [event], labels, parentRunId });
  }
  return [...appends.values()];
}

/** Returns the results in input order. */
function toResults(
  payloads: Payloads,
  prepared: readonly Prepared[],
  appends: readonly RunAppend[],
  placed: readonly PlacedEvent[][],
): AppendResult[] {
  if (prepared.length === 1) return [toResult(payloads, prepared[0]!, placed[0]![0]!)];
  const placedByEvent = new Map<PreparedEvent, PlacedEvent>();
  appends.forEach((append, index) => {
    for (const [at, event] of append.events.entries()) placedByEvent.set(event, placed[index]![at]!);
  });
  return prepared.map((it) => toResult(payloads, it, placedByEvent.get(it.event)!));
}

function toResult(payloads: Payloads, { run, event }: Prepared, placed: PlacedEvent): AppendResult {
  const { runSeq, duplicateOf } = placed;
  const persistedAt = timeText(placed.persistedAt);
  if (!duplicateOf) return { eventId: event.eventId, runSeq, persistedAt, idempotent: false, persisted: true };
  const payloadMatches = hasSameContent(payloads, run, event, duplicateOf);
  const result = { eventId: duplicateOf.eventId, runSeq, persistedAt, idempotent: true, persisted: false };
  return payloadMatches === null ? result : { ...result, payloadMatches };
}

/**
 * Whether a duplicate has the content of the stored event. `null` when that cannot be determined: a redacted event has
 * only its payload's hash left, and a codec may encode the same payload to a different text each time.
 */
function hasSameContent(payloads: Payloads, run: RunKey, sent: PreparedEvent, stored: StoredRunEvent): boolean | null {
  if (sent.eventType !== stored.eventType || sent.stepId !== stored.stepId) return false;
  if (stored.redaction) {
    if (payloadHashOf(sent.payload) === stored.redaction.payloadHash) return true;
    return payloads.codec === null ? false : null;
  }
  if (sent.payload === stored.payload) return true;
  if (sent.payload === null || stored.payload === null) return false;
  const context = payloadContext(run, stored);
  try {
    return sameJson(payloads.decode(sent.payload, context), payloads.decode(stored.payload, context));
  } catch (error) {
    // Other events of the batch are already written: an unreadable stored payload must not fail the whole append.
    if (isTidemarkError(error, 'CODEC_FAILED')) return false;
    throw error;
  }
}
