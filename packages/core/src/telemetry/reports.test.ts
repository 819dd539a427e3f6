/** The level of the log line, the attributes of batches, and which calls carry a trace context. */
import { describe, expect, it } from 'vitest';
import { type ErrorCode, TidemarkError } from '../contracts/errors.ts';
import { memoryStore } from '../memory/store.ts';
import { withRecords } from '../store.ts';
import type { Logger } from './ports.ts';
import { withTelemetry } from './with-telemetry.ts';

function recording() {
  const lines: { level: string; fields: Record<string, unknown>; message: string }[] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message });
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  return { logger, lines };
}

describe('a failed call', () => {
  it.each([
    ['warn', 'UNAVAILABLE'],
    ['error', 'CORRUPT_VALUE'],
    ['error', 'STORAGE_ERROR'],
    ['error', 'UNEXPECTED'],
  ])('is logged as %s for %s', async (level, code) => {
    const { logger, lines } = recording();
    const error = code === 'UNEXPECTED' ? new Error('why') : new TidemarkError(code as ErrorCode, 'why');
    const failing = withRecords(memoryStore(), () => ({
      get: async () => {
        throw error;
      },
    }))!;
    await expect(withTelemetry(failing, { logger }).kv.get('k')).rejects.toBe(error);
    expect(lines).toMatchObject([{ level, fields: { code, exception: 'why' }, message: `kv.get failed: ${code}` }]);
  });
});

describe('a batch', () => {
  const attributes = async (events: object[]) => {
    const { logger, lines } = recording();
    await withTelemetry(memoryStore(), { logger }).runs.appendEvents(events as never);
    const { ms: _, ...rest } = lines[0]!.fields;
    return rest;
  };

  it('names the run and the tenant that all of its events have', async () => {
    const common = { 'tidemark.call': 'runs.appendEvents', 'tidemark.batch.size': 2 };
    const event = { runId: 'r', tenantId: 't', eventType: 'Progress' };
    expect(await attributes([event, event])).toEqual({ ...common, 'tidemark.run': 'r', 'tidemark.tenant': 't' });
    expect(await attributes([event, { ...event, runId: 'q' }])).toEqual({ ...common, 'tidemark.tenant': 't' });
    expect(await attributes([event, { ...event, tenantId: 'u' }])).toEqual({ ...common, 'tidemark.run': 'r' });
    expect(await attributes([{ ...event, tenantId: undefined }, event])).toEqual({ ...common, 'tidemark.run': 'r' });
  });

  it('is counted for appends only', async () => {
    const { logger, lines } = recording();
    const store = withTelemetry(memoryStore(), { logger });
    await store.kv.put('k', { a: 1 });
    await store.runs.listRuns({ tenantId: 't' });
    for (const { fields } of lines) expect(Object.keys(fields)).not.toContain('tidemark.batch.size');
  });
});

describe('the trace context', () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const stored = async (port: (() => string | undefined) | undefined, event: object = {}) => {
    const store = withTelemetry(memoryStore(), { logger: recording().logger, ...(port && { traceparent: port }) });
    await store.runs.appendEvent({ runId: 'r', eventType: 'Progress', ...event } as never);
    await store.runs.appendEvents([{ runId: 'r', eventType: 'Progress', ...event }] as never);
    const events = await Array.fromAsync(store.runs.readEvents('r'));
    return events.map((it) => (it as { traceparent?: string }).traceparent);
  };

  it('is added to events without a trace context', async () => {
    expect(await stored(() => traceparent)).toEqual([traceparent, traceparent]);
    const own = traceparent.replace('01', '00');
    expect(await stored(() => traceparent, { traceparent: own })).toEqual([own, own]);
    expect(await stored(() => undefined)).toEqual([undefined, undefined]);
    expect(await stored(undefined)).toEqual([undefined, undefined]);
  });

  it('does not hide values that are not events', async () => {
    const store = withTelemetry(memoryStore(), { logger: recording().logger, traceparent: () => traceparent });
    const refused = { code: 'INVALID_ARGUMENT' };
    await expect(store.runs.appendEvent(null as never)).rejects.toMatchObject(refused);
    await expect(store.runs.appendEvents(['text'] as never)).rejects.toMatchObject(refused);
    await expect(store.runs.appendEvents('text' as never)).rejects.toMatchObject(refused);
  });
});
