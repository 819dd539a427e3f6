/** Names that examples use without an import: stand-ins for libraries that the repository does not depend on, and a part of Node. */
import type { InputOf, Logger, Meter, OutputOf, StandardSchema, Tracer } from '@tidemark/core';

export { generateKeyPairSync } from 'node:crypto';

type Shape = Record<string, StandardSchema>;

function schema<T>(fits: (value: unknown) => boolean): StandardSchema<T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'stand-in',
      validate: (value) => (fits(value) ? { value: value as T } : { issues: [{ message: 'does not fit' }] }),
    },
  };
}

/** The part of zod that examples use. */
export const z = {
  number: () => schema<number>((value) => typeof value === 'number'),
  string: () => schema<string>((value) => typeof value === 'string'),
  object: <S extends Shape>(shape: S) =>
    schema((value) =>
      Object.entries(shape).every(([name, member]) => !('issues' in member['~standard'].validate(Object(value)[name]))),
    ) as StandardSchema<{ [K in keyof S]: InputOf<S[K]> }, { [K in keyof S]: OutputOf<S[K]> }>,
};

/** The logger of pino, without output. */
export const pino = (): Logger => ({ debug() {}, info() {}, warn() {}, error() {} });

/** The tracing API of OpenTelemetry, without an SDK. */
export const trace = {
  getTracer: (_name: string): Tracer => ({
    startActiveSpan: (_span, _options, work) =>
      work({ setAttributes() {}, setStatus() {}, recordException() {}, end() {} }),
  }),
};

/** The metrics API of OpenTelemetry, without an SDK. */
export const metrics = {
  getMeter: (_name: string): Meter => ({
    createHistogram: () => ({ record() {} }),
    createCounter: () => ({ add() {} }),
  }),
};
