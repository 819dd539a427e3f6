/** `withTelemetry`: spans, metrics and log lines around the calls of a store, through ports that cost nothing when absent. */
import { factsOf } from '../contracts/calls.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { InterceptedStore, type Interceptor, type StoreCall } from '../wrappers/intercept.ts';
import type { Attributes, Counter, Histogram, Logger, Meter, Span, Tracer } from './ports.ts';

/** What to report to. */
export interface Telemetry {
  /** A span per call, `tidemark.runs.appendEvent`, with run, tenant, batch size, duplicates and error code. */
  tracer?: Tracer;
  /**
   * Append latency and batch size, duplicates, conflicts, unknown outcomes and errors. Projectors and sweepers take a meter
   * of their own.
   */
  meter?: Meter;
  /** A debug line per call, a warning or error line per failure. Never a payload. */
  logger?: Logger;
  /** The W3C trace context of the moment, put on events that carry none. */
  traceparent?: () => string | undefined;
}

const CLIENT = 2;
const ERROR = 2;
const CONFLICTS = ['SEQ_CONFLICT', 'VERSION_CONFLICT', 'CONFLICT', 'CLAIM_LOST'] as const;

/**
 * The store with its calls reported; the store itself when there is nothing to report to.
 *
 * @example
 * withTelemetry(store, { tracer: trace.getTracer('app'), meter: metrics.getMeter('app'), logger: pino() });
 */
export function withTelemetry(store: Store, telemetry: Telemetry = {}): Store {
  const { tracer, meter, logger, traceparent } = telemetry;
  return tracer || meter || logger || traceparent ? new InterceptedStore(store, new Reporter(telemetry)) : store;
}

class Reporter implements Interceptor {
  readonly #telemetry: Telemetry;
  readonly #instruments: Instruments | null;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
    this.#instruments = telemetry.meter ? new Instruments(telemetry.meter) : null;
  }

  call(call: StoreCall, proceed: (args?: readonly unknown[]) => Promise<unknown>): Promise<unknown> {
    const { tracer } = this.#telemetry;
    if (!tracer) return this.#made(call, proceed, null);
    const options = { kind: CLIENT, attributes: attributesOf(call) };
    return tracer.startActiveSpan(`tidemark.${call.domain}.${call.method}`, options, async (span) => {
      try {
        return await this.#made(call, proceed, span);
      } finally {
        span.end();
      }
    });
  }

  async #made(call: StoreCall, proceed: (args?: readonly unknown[]) => Promise<unknown>, span: Span | null) {
    const start = performance.now();
    try {
      // Within the span: the trace context that events carry is the one of their append.
      const result = await proceed(this.#traced(call));
      this.#succeeded(call, result, performance.now() - start, span);
      return result;
    } catch (error) {
      this.#failed(call, error, performance.now() - start, span);
      throw error;
    }
  }

  #traced(call: StoreCall): readonly unknown[] {
    if (!this.#telemetry.traceparent || !isAppend(call)) return call.args;
    const traceparent = this.#telemetry.traceparent();
    if (traceparent === undefined) return call.args;
    const [what, ...rest] = call.args;
    // What is no event is left as it is, for the store to refuse.
    const carry = (event: unknown) => (typeof event === 'object' && event !== null ? { traceparent, ...event } : event);
    return [Array.isArray(what) ? what.map(carry) : carry(what), ...rest];
  }

  #succeeded(call: StoreCall, result: unknown, ms: number, span: Span | null): void {
    this.#telemetry.logger?.debug({ ...attributesOf(call), ms }, `${call.domain}.${call.method}`);
    if (!isAppend(call)) return;
    const results = (Array.isArray(result) ? result : [result]) as (AppendResult | null)[];
    const duplicates = results.filter((it) => it?.idempotent).length;
    span?.setAttributes({ 'tidemark.duplicates': duplicates });
    this.#instruments?.appended(ms, results.length, duplicates);
  }

  #failed(call: StoreCall, error: unknown, ms: number, span: Span | null): void {
    const code = isTidemarkError(error) ? error.code : 'UNEXPECTED';
    const message = error instanceof Error ? error.message : String(error);
    span?.setAttributes({ 'error.type': code });
    span?.setStatus({ code: ERROR, message });
    if (error instanceof Error) span?.recordException(error);
    this.#instruments?.failed(`${call.domain}.${call.method}`, code, isTidemarkError(error, ...CONFLICTS));
    const level =
      isTidemarkError(error) && !code.startsWith('CORRUPT_') && !code.startsWith('STORAGE_') ? 'warn' : 'error';
    const line = { ...attributesOf(call), ms, code, exception: message };
    this.#telemetry.logger?.[level](line, `${call.domain}.${call.method} failed: ${code}`);
  }
}

/** The metrics, made once. */
class Instruments {
  readonly #latency: Histogram;
  readonly #batch: Histogram;
  readonly #duplicates: Counter;
  readonly #conflicts: Counter;
  readonly #unknown: Counter;
  readonly #errors: Counter;

  constructor(meter: Meter) {
    const histogram = (name: string, unit: string, description: string) =>
      meter.createHistogram(`tidemark.${name}`, { description, unit });
    const counter = (name: string, description: string) => meter.createCounter(`tidemark.${name}`, { description });
    this.#latency = histogram('append.duration', 'ms', 'How long appends took until they were durable');
    this.#batch = histogram('append.batch_size', '{event}', 'Events per append call');
    this.#duplicates = counter('append.duplicates', 'Events whose key was stored already');
    this.#conflicts = counter('conflicts', 'Calls refused because something else was written first');
    this.#unknown = counter('outcomes_unknown', 'Writes that may or may not have been stored');
    this.#errors = counter('errors', 'Calls that failed, by method and code');
  }

  appended(ms: number, events: number, duplicates: number): void {
    this.#latency.record(ms);
    this.#batch.record(events);
    if (duplicates > 0) this.#duplicates.add(duplicates);
  }

  failed(method: string, code: string, isConflict: boolean): void {
    this.#errors.add(1, { method, code });
    if (isConflict) this.#conflicts.add(1, { method, code });
    if (code === 'OUTCOME_UNKNOWN') this.#unknown.add(1, { method });
  }
}

function isAppend(call: StoreCall): boolean {
  const facts = factsOf(call);
  return call.domain === 'runs' && facts.kind === 'write' && facts.events !== undefined;
}

function attributesOf(call: StoreCall): Attributes {
  const [subject, second] = call.args;
  const events = isAppend(call)
    ? ((Array.isArray(subject) ? subject : [subject]) as (RunEventInput | undefined)[])
    : null;
  const options = (typeof second === 'object' && second !== null ? second : {}) as { tenantId?: unknown };
  const facts = factsOf(call);
  const run = events ? sharedBy(events, 'runId') : facts.first === 'runId' ? subject : undefined;
  const tenant = call.tenantId ?? (events ? sharedBy(events, 'tenantId') : options.tenantId);
  return {
    'tidemark.call': `${call.domain}.${call.method}`,
    ...(typeof run === 'string' ? { 'tidemark.run': run } : {}),
    ...(typeof tenant === 'string' ? { 'tidemark.tenant': tenant } : {}),
    ...(events ? { 'tidemark.batch.size': events.length } : {}),
  };
}

/** What all events say alike; nothing where they differ. */
function sharedBy(events: readonly (RunEventInput | undefined)[], field: 'runId' | 'tenantId'): unknown {
  const first = events[0]?.[field];
  return events.every((event) => event?.[field] === first) ? first : undefined;
}
