/** The little that Tidemark needs of a logger, tracer and meter; pino and `@opentelemetry/api` fit as they are. */

/** Lines of an object and a message, as pino takes them. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  setAttributes(attributes: Attributes): unknown;
  /** 2 is an error. */
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
