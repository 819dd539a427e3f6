/**
 * Appends events: fills them in, checks them, groups them by run and applies the fence. Checks transitions on request.
 */

import { sameJson } from '../checks/json.ts';
import { checkAppendLife } from '../checks/life.ts';
import { checkInteger, timeText } from '../checks/numbers.ts';
import { checkOptionalBoolean } from '../checks/text.ts';
import type { Payloads } from '../codec/payloads.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { PreparedEvent, RunAppend, RunEngine, SequencedEvent, StoredRunEvent } from '../engine/runs.ts';
import { refuseIfOver } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import { refusalOf } from '../tools/outcomes.ts';
import { carriedWrite, type WriteCall } from '../tools/writes.ts';
import { payloadHashOf } from './chain.ts';
import { filledEvent, filledEvents } from './envelope.ts';
import { payloadContext } from './event-forms.ts';
import { deleteIfExpired } from './expiring.ts';
import { isExpiryError } from './expiry.ts';
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

  /** Appends one event: the most frequent call, without the arrays and maps that several events need. */
  async appendOne(input: RunEventInput, options: AppendOptions | undefined): Promise<AppendResult> {
    const event = filledEvent(input, this.#context, this.#view?.tenantId);
    const prepared = prepareEvent(this.#context, event, this.#view);
    const write = this.#context.writeOf('runs', 'appendEvent', [event, options]);
    const appends = [appendOf(prepared)];
    const [placed] =
      options === undefined ? await this.#writePlain(appends, write) : await this.#write(appends, options, write);
    return toResult(this.#context.payloads, prepared, placed![0]!);
  }

  /** Appends events, in order within each run. */
  async append(inputs: readonly RunEventInput[], options: AppendOptions | undefined): Promise<AppendResult[]> {
    const events = filledEvents(inputs, this.#context, this.#view?.tenantId);
    const prepared = events.map((event) => prepareEvent(this.#context, event, this.#view));
    const appends = groupByRun(prepared);
    const write = this.#context.writeOf('runs', 'appendEvents', [events, options]);
    return toResults(this.#context.payloads, prepared, appends, await this.#write(appends, options, write));
  }

  /** Like `#write`, without options: the most frequent call, with as few closures and promises as possible. */
  #writePlain(appends: readonly RunAppend[], write: WriteCall): Promise<SequencedEvent[][]> {
    return this.#context.write(undefined, write, (call) =>
      this.#engine.append(appends, call).then((outcomes) => unrefused(outcomes, write)),
    );
  }

  /** Writes appends by the caller's options. `write` is the public call that requested them; errors carry it. */
  #write(
    appends: readonly RunAppend[],
    options: AppendOptions | undefined,
    write: WriteCall,
  ): Promise<SequencedEvent[][]> {
    if (options?.expectedSeq !== undefined) {
      checkInteger(options.expectedSeq, 'expectedSeq', 0);
      if (appends.length > 1) throw invalidArgument('expectedSeq', 'used with events of a single run');
      appends[0]!.expectedSeq = options.expectedSeq;
    }
    if (options?.life !== undefined) {
      const life = checkAppendLife(options.life);
      if (appends.length > 1) throw invalidArgument('life', 'used with events of a single run');
      appends[0]!.life = life;
    }
    const appender = this.#inlineAppends(this.#engine, options) ?? this.#engine;
    const rejects = checkOptionalBoolean(options?.rejectInvalidTransitions, 'rejectInvalidTransitions');
    return this.#context.write(options, write, async (call: EngineCall & { transaction?: unknown }) => {
      if (options?.transaction !== undefined && !rejects) call.transaction = options.transaction;
      const append = () => (rejects ? this.#appendValid(appends, appender, call) : appender.append(appends, call));
      let outcomes = await append();
      // A life that has expired ends before the next one begins. The caller's own transaction cannot delete it.
      while (options?.life === 'new' && call.transaction === undefined && isExpiryError(outcomes[0])) {
        await deleteIfExpired(this.#engine, appends[0]!.run, call);
        refuseIfOver(call);
        outcomes = await append();
      }
      return unrefused(outcomes, write);
    });
  }

  /** Appends only events that the transition table allows, fenced on the state they were checked against (RUN-11). */
  async #appendValid(
    appends: readonly RunAppend[],
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    // Check all runs before writing the first, so that most rejections leave nothing written.
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
type Outcome = SequencedEvent[] | Error;

function isRefused(outcome: Outcome): outcome is Error {
  return outcome instanceof Error;
}

/** Returns the outcomes. Throws if one was rejected. */
function unrefused(outcomes: readonly Outcome[], write: WriteCall): SequencedEvent[][] {
  if (!outcomes.some(isRefused)) return outcomes as SequencedEvent[][];
  throw refusalOf(outcomes.filter(isRefused), outcomes.some(isWritten), carriedWrite(write));
}

function isWritten(outcome: Outcome): boolean {
  return !(outcome instanceof Error) && outcome.some(({ duplicateOf }) => duplicateOf === null);
}

/** Returns one append per run, with each run's events in input order. */
function groupByRun(prepared: readonly Prepared[]): RunAppend[] {
  const appends = new Map<string, RunAppend>();
  for (const it of prepared) {
    const key = `${it.run.tenantId}\0${it.run.runId}`;
    const append = appends.get(key);
    if (append) append.events.push(it.event);
    else appends.set(key, appendOf(it));
  }
  return [...appends.values()];
}

function appendOf({ run, event, labels, parentRunId }: Prepared): RunAppend {
  return { run, events: [event], labels, parentRunId };
}

/** Returns the results in input order. */
function toResults(
  payloads: Payloads,
  prepared: readonly Prepared[],
  appends: readonly RunAppend[],
  placed: readonly SequencedEvent[][],
): AppendResult[] {
  const placedByEvent = new Map<PreparedEvent, SequencedEvent>();
  appends.forEach((append, index) => {
    for (const [at, event] of append.events.entries()) placedByEvent.set(event, placed[index]![at]!);
  });
  return prepared.map((it) => toResult(payloads, it, placedByEvent.get(it.event)!));
}

function toResult(payloads: Payloads, prepared: Prepared, placed: SequencedEvent): AppendResult {
  const result = resultOf(payloads, prepared, placed);
  return placed.life === undefined ? result : { ...result, life: placed.life };
}

function resultOf(payloads: Payloads, { run, event }: Prepared, placed: SequencedEvent): AppendResult {
  const { runSeq, duplicateOf } = placed;
  const persistedAt = timeText(placed.persistedAt);
  if (!duplicateOf) return { eventId: event.eventId, runSeq, persistedAt, idempotent: false, persisted: true };
  const payloadMatches = hasSameContent(payloads, run, event, duplicateOf);
  const result = { eventId: duplicateOf.eventId, runSeq, persistedAt, idempotent: true, persisted: false };
  return payloadMatches === null ? result : { ...result, payloadMatches };
}

/**
 * Whether a duplicate has the content of the stored event. `null` if that is unknown, because a redacted event has only
 * the hash of its payload left and a codec may encode the same payload differently each time.
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
    // Other events of the batch are already written, so an unreadable stored payload must not fail the whole append.
    if (isTidemarkError(error, 'CODEC_FAILED')) return false;
    throw error;
  }
}
