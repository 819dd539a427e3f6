/** Tests the reports of `withTelemetry` with recording ports. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import { memoryStore } from '../memory/store.ts';
import type { Attributes, Logger, Meter, Span, Tracer } from './ports.ts';
import { withTelemetry } from './with-telemetry.ts';

function recording() {
  const spans: { name: string; attributes: Attributes; status?: number; exceptions: number; ended: boolean }[] = [];
  const points: [name: string, value: number, attributes?: Attributes][] = [];
  const lines: [level: string, fields: object, message: string][] = [];
  let active = 0;
  const tracer: Tracer = {
    startActiveSpan(name, { attributes = {} }, work) {
      const record = { name, attributes: { ...attributes }, exceptions: 0, ended: false } as (typeof spans)[number];
      spans.push(record);
      active = spans.length;
      const span: Span = {
        setAttributes: (more) => Object.assign(record.attributes, more),
        setStatus({ code }) {
          record.status = code;
        },
        recordException() {
          record.exceptions++;
        },
        end() {
          record.ended = true;
        },
      };
      return work(span);
    },
  };
  const meter: Meter = {
    createHistogram: (name) => ({ record: (value, attributes) => points.push([name, value, attributes]) }),
    createCounter: (name) => ({ add: (value, attributes) => points.push([name, value, attributes]) }),
  };
  const log = (level: string) => (fields: object, message: string) => lines.push([level, fields, message]);
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  return { tracer, meter, logger, spans, points, lines, active: () => active };
}

describe('withTelemetry', () => {
  it('returns the store itself when no port is configured', () => {
    const store = memoryStore();
    expect(withTelemetry(store)).toBe(store);
    expect(withTelemetry(store, {})).toBe(store);
  });

  it('creates a span for each call with its subject and its result', async () => {
    const { tracer, spans } = recording();
    const store = withTelemetry(memoryStore(), { tracer });
    const run = store.forTenant('acme').runs.handle('r');
    await run.append('RunStarted');
    await run.append('RunStarted');
    await run.headSeq();
    await store.kv.put('k', { secret: 1 });
    await expect(store.runs.projectSnapshot('unknown', { tenantId: 'acme' })).rejects.toThrow();
    const append = { 'tidemark.run': 'r', 'tidemark.tenant': 'acme', 'tidemark.batch.size': 1 };
    expect(spans).toMatchObject([
      { name: 'tidemark.runs.appendEvent', attributes: { ...append, 'tidemark.duplicates': 0 }, ended: true },
      { name: 'tidemark.runs.appendEvent', attributes: { ...append, 'tidemark.duplicates': 1 }, ended: true },
      { name: 'tidemark.runs.headSeq', attributes: { 'tidemark.run': 'r' }, ended: true },
      { name: 'tidemark.kv.put', ended: true },
      {
        name: 'tidemark.runs.projectSnapshot',
        attributes: { 'tidemark.run': 'unknown', 'tidemark.tenant': 'acme', 'error.type': 'RUN_NOT_FOUND' },
        status: 2,
        exceptions: 1,
        ended: true,
      },
    ]);
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  it('measures appends, duplicates, conflicts and errors', async () => {
    const { meter, points } = recording();
    const store = withTelemetry(memoryStore(), { meter });
    await store.runs.handle('r').append('RunStarted');
    await store.runs.handle('r').append('RunStarted');
    const [event] = await store.runs.fetchEvents('r');
    const { runSeq: _, persistedAt: __, ...again } = event!;
    const next = { ...again, idempotencyKey: 'next' };
    await expect(store.runs.appendEvents([next], { expectedSeq: 7 })).rejects.toThrow();
    const of = (name: string) =>
      points.filter(([it]) => it === name).map(([, value, attributes]) => [value, attributes]);
    expect(of('tidemark.append.duration')).toHaveLength(2);
    expect(of('tidemark.append.batch_size')).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
    expect(of('tidemark.append.duplicates')).toEqual([[1, undefined]]);
    const conflict = [1, { method: 'runs.appendEvents', code: 'SEQ_CONFLICT' }];
    expect(of('tidemark.conflicts')).toEqual([conflict]);
    expect(of('tidemark.errors')).toEqual([conflict]);
  });

  it('logs how long a call took, whether it succeeds or fails', async () => {
    const { logger, lines } = recording();
    let now = 1_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const inner = memoryStore();
    const slow =
      <T>(outcome: () => Promise<T>) =>
      async () => {
        now += 250;
        return outcome();
      };
    inner.runs.headSeq = slow(async () => 7);
    inner.runs.getSnapshot = slow(() => Promise.reject(new TidemarkError('TIMEOUT', 'late')));
    const store = withTelemetry(inner, { logger });
    await store.runs.headSeq('r');
    await expect(store.runs.getSnapshot('r')).rejects.toThrow('late');
    expect(lines.map(([level, fields]) => [level, (fields as { ms: number }).ms])).toEqual([
      ['debug', 250],
      ['warn', 250],
    ]);
  });

  it('counts unknown outcomes', async () => {
    const { meter, points } = recording();
    const inner = memoryStore();
    inner.runs.appendEvent = () =>
      Promise.reject(Object.assign(new Error('lost'), { name: 'TidemarkError', code: 'OUTCOME_UNKNOWN' }));
    await expect(withTelemetry(inner, { meter }).runs.handle('r').append('A')).rejects.toThrow('lost');
    expect(points.map(([name]) => name)).toContain('tidemark.outcomes_unknown');
  });

  it('logs lines for a logger such as pino, without payloads', async () => {
    const { logger, lines } = recording();
    const store = withTelemetry(memoryStore(), { logger });
    await store.runs.handle('r').append('A', { secret: 1 });
    await expect(store.runs.handle('r').append('StepStarted', { secret: 1 })).rejects.toThrow();
    expect(lines).toMatchObject([
      ['debug', { 'tidemark.run': 'r', ms: expect.any(Number) }, 'runs.appendEvent'],
      ['warn', { code: 'INVALID_ARGUMENT' }, 'runs.appendEvent failed: INVALID_ARGUMENT'],
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it.each([
    ['error', 'CORRUPT_EVENT', new TidemarkError('CORRUPT_EVENT', 'damaged')],
    ['error', 'STORAGE_ERROR', new TidemarkError('STORAGE_ERROR', 'the disk failed')],
    ['error', 'UNEXPECTED', new TypeError('a defect')],
    ['error', 'UNEXPECTED', 'not an error'],
    ['warn', 'UNAVAILABLE', new TidemarkError('UNAVAILABLE', 'not now')],
    ['warn', 'SEQ_CONFLICT', new TidemarkError('SEQ_CONFLICT', 'another writer came first')],
  ])('logs at the level %s when a call fails with %s', async (level, code, failure) => {
    const { logger, lines } = recording();
    const inner = memoryStore();
    inner.runs.headSeq = () => Promise.reject(failure);
    await expect(withTelemetry(inner, { logger }).runs.headSeq('r')).rejects.toBe(failure);
    expect(lines).toMatchObject([[level, { code }, `runs.headSeq failed: ${code}`]]);
  });

  it('adds the trace context of the append to events without one', async () => {
    const { tracer, active } = recording();
    const store = withTelemetry(memoryStore(), { tracer, traceparent: () => `trace-${active()}` });
    const run = store.runs.handle('r');
    await run.append('A');
    await run.append('B', {}, { traceparent: 'own' });
    await store.runs.appendEvents([]);
    for (const wrong of [null, undefined, 'text', 5]) {
      const refusal = await store.runs.appendEvent(wrong as never).catch((error: TidemarkError) => error);
      const usual = await memoryStore()
        .runs.appendEvent(wrong as never)
        .catch((error: TidemarkError) => error);
      expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', message: (usual as TidemarkError).message });
    }
    const events = await store.runs.fetchEvents('r');
    expect(events.map((it) => it.traceparent)).toEqual(['trace-1', 'own']);
    const without = withTelemetry(memoryStore(), { traceparent: () => undefined });
    await without.runs.handle('r').append('A');
    expect((await without.runs.fetchEvents('r'))[0]).not.toHaveProperty('traceparent');
  });
});
