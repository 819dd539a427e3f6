/** The way of an append from checked events to its results: grouped by run, fenced, checked against transitions where asked for. */

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

/** Returns the append that writes states of projections with the events; `null` when the options name no projections. */
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

  /** Appends events; `write` is the call that made the append. */
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
      return resultsOf(this.#context.payloads, prepared, appends, outcomes as PlacedEvent[][]);
    });
  }

  /** Appends only what the transition table allows, against the very state it was checked on (RUN-11). */
  async #appendValid(
    appends: readonly RunAppend[],
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    // All are checked before the first is written: most refusals then leave nothing behind.
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

  /** Throws `INVALID_TRANSITION` for events that are new and not allowed; returns the run's last sequence. */
  async #checkTransitions(append: RunAppend, call: EngineCall): Promise<number> {
    const fresh: PreparedEvent[] = [];
    for (const event of append.events) if (!(await this.#isStored(append, event, call))) fresh.push(event);
    return this.#snapshots.checkTransitions(append.run, fresh, call);
  }

  /** A duplicate passes a fence that nothing else can pass, so an impossible one asks without writing (RUN-7). */
  async #isStored(append: RunAppend, event: PreparedEvent, call: EngineCall): Promise<boolean> {
    const [outcome] = await this.#engine.append([{ ...append, events: [event], expectedSeq: -1 }], call);
    if (isTidemarkError(outcome, 'SEQ_CONFLICT')) return false;
    if (outcome instanceof Error) throw outcome;
    return outcome!.length === 1;
  }
}

/** Where the events of one run stand, or why none of them was written. */
type Outcome = PlacedEvent[] | Error;

function isWritten(outcome: Outcome): boolean {
  return !(outcome instanceof Error) && outcome.some(({ duplicateOf }) => duplicateOf === null);
}

/** One append per run, the events of each in their order. */
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

/** The results in the order of the inputs. */
function resultsOf(
  payloads: Payloads,
  prepared: readonly Prepared[],
  appends: readonly RunAppend[],
  placed: readonly PlacedEvent[][],
): AppendResult[] {
  if (prepared.length === 1) return [resultOf(payloads, prepared[0]!, placed[0]![0]!)];
  const placedOf = new Map<PreparedEvent, PlacedEvent>();
  appends.forEach((append, index) => {
    for (const [at, event] of append.events.entries()) placedOf.set(event, placed[index]![at]!);
  });
  return prepared.map((it) => resultOf(payloads, it, placedOf.get(it.event)!));
}

function resultOf(payloads: Payloads, { run, event }: Prepared, placed: PlacedEvent): AppendResult {
  const { runSeq, duplicateOf } = placed;
  const persistedAt = timeText(placed.persistedAt);
  if (!duplicateOf) return { eventId: event.eventId, runSeq, persistedAt, idempotent: false, persisted: true };
  const payloadMatches = saysTheSame(payloads, run, event, duplicateOf);
  const result = { eventId: duplicateOf.eventId, runSeq, persistedAt, idempotent: true, persisted: false };
  return payloadMatches === null ? result : { ...result, payloadMatches };
}

/** `null` where it cannot be known: a codec gives another text each time, and of a redacted one only the hash is left. */
function saysTheSame(payloads: Payloads, run: RunKey, sent: PreparedEvent, stored: StoredRunEvent): boolean | null {
  if (sent.eventType !== stored.eventType || sent.stepId !== stored.stepId) return false;
  if (stored.redaction) {
    if (payloadHashOf(sent.payload) === stored.redaction.payloadHash) return true;
    return payloads.codec === null ? false : null;
  }
  if (sent.payload === stored.payload) return true;
  if (sent.payload === null || stored.payload === null) return false;
  const place = payloadContext(run, stored);
  try {
    return sameJson(payloads.decode(sent.payload, place), payloads.decode(stored.payload, place));
  } catch (error) {
    // Others of the batch are written: one whose stored payload cannot be read any more must not deny that.
    if (isTidemarkError(error, 'CODEC_FAILED')) return false;
    throw error;
  }
}
