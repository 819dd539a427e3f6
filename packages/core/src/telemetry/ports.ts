/** The parts of a logger, tracer and meter that Tidemark uses. pino and `@opentelemetry/api` satisfy them. */

/** Logs an object with fields and a message, as pino does. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  setAttributes(attributes: Attributes): unknown;
  /** Code 2 means an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: Error): void;
  end(): void;
}

export interface Tracer {
  startActiveSpan<T>(name: string, options: { kind?: number; attributes?: Attributes }, work: (span: Span) => T): T;
}

export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Meter {
  createHistogram(name: string, options: { description: string; unit?: string }): Histogram;
  createCounter(name: string, options: { description: string; unit?: string }): Counter;
}
