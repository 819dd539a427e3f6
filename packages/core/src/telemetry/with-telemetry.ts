/**
 * `withTelemetry`: reports the calls of a store as spans, metrics and log lines. Ports that are absent cost nothing.
 */
import { factsOf } from '../contracts/calls.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { InterceptedStore, type Interceptor, type StoreCall } from '../wrappers/intercept.ts';
import type { Attributes, Counter, Histogram, Logger, Meter, Span, Tracer } from './ports.ts';

/** The ports that `withTelemetry` reports to. All are optional. */
export interface Telemetry {
  /**
   * Receives a span per call, such as `tidemark.runs.appendEvent`, with run, tenant, batch size, duplicates, error
   * code.
   */
  tracer?: Tracer;
  /**
   * Records append latency and batch size, duplicates, conflicts, unknown outcomes and errors. Projectors and sweepers
   * have their own `meter` option.
   */
  meter?: Meter;
  /** Receives a debug line per call, and a warning or error line per failure. Lines never contain payloads. */
  logger?: Logger;
  /** Returns the current W3C trace context, which is added to appended events that have none. */
  traceparent?: () => string | undefined;
}

const CLIENT = 2;
const ERROR = 2;
const CONFLICTS = ['SEQ_CONFLICT', 'VERSION_CONFLICT', 'CONFLICT', 'CLAIM_LOST'] as const;

/**
 * Wraps a store and reports its calls as spans, metrics and log lines. Returns the store itself when `telemetry` has no
 * port. Views of tenants are included.
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
    if (!tracer) return this.#proceed(call, proceed, null);
    const options = { kind: CLIENT, attributes: attributesOf(call) };
    return tracer.startActiveSpan(`tidemark.${call.domain}.${call.method}`, options, async (span) => {
      try {
        return await this.#proceed(call, proceed, span);
      } finally {
        span.end();
      }
    });
  }

  async #proceed(call: StoreCall, proceed: (args?: readonly unknown[]) => Promise<unknown>, span: Span | null) {
    const start = performance.now();
    try {
      // Read inside the span, so that events get the trace context of their append.
      const result = await proceed(this.#withTraceparent(call));
      this.#succeeded(call, result, performance.now() - start, span);
      return result;
    } catch (error) {
      this.#failed(call, error, performance.now() - start, span);
      throw error;
    }
  }

  #withTraceparent(call: StoreCall): readonly unknown[] {
    if (!this.#telemetry.traceparent || !isAppend(call)) return call.args;
    const traceparent = this.#telemetry.traceparent();
    if (traceparent === undefined) return call.args;
    const [what, ...rest] = call.args;
    // Values that are not events are passed on unchanged; the store rejects them.
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

/** The metric instruments, created once. */
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
    this.#conflicts = counter('conflicts', 'Calls rejected because another write came first');
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
  const run = events ? commonValue(events, 'runId') : facts.first === 'runId' ? subject : undefined;
  const tenant = call.tenantId ?? (events ? commonValue(events, 'tenantId') : options.tenantId);
  return {
    'tidemark.call': `${call.domain}.${call.method}`,
    ...(typeof run === 'string' ? { 'tidemark.run': run } : {}),
    ...(typeof tenant === 'string' ? { 'tidemark.tenant': tenant } : {}),
    ...(events ? { 'tidemark.batch.size': events.length } : {}),
  };
}

/** Returns the value that all events have in common, or `undefined` where they differ. */
function commonValue(events: readonly (RunEventInput | undefined)[], field: 'runId' | 'tenantId'): unknown {
  const first = events[0]?.[field];
  return events.every((event) => event?.[field] === first) ? first : undefined;
}
