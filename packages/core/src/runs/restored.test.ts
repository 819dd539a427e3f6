/** Restored parts are refused if an append would refuse their events, or if `extra` would overwrite stored fields. */
import { describe, expect, it } from 'vitest';
import { compression } from '../codec/compression.ts';
import { encryption } from '../codec/encryption.ts';
import { formatEnvelope } from '../codec/envelope.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import { StoreContext } from '../tools/context.ts';
import { restoredPart } from './restored.ts';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const TIME = '2026-01-01T00:00:00.000Z';

function part(event: Record<string, unknown> = {}, run: Record<string, unknown> = {}): RunPart {
  const scope = { projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' };
  return {
    run: {
      ...{ tenantId: 'acme', runId: 'run', ...scope, status: null, lastEventSeq: 1, head: '0'.repeat(64) },
      ...{ createdAt: TIME, updatedAt: TIME, labels: {}, parentRunId: null, ...run },
    },
    events: [
      {
        ...{ runSeq: 1, eventId: '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e', eventType: 'Progress', emittedAt: TIME },
        ...{ persistedAt: TIME, ...scope, engineAttemptId: 1, logicalAttemptId: 1, idempotencyKey: 'key' },
        ...{ stepId: null, extra: null, payload: null, commitIndex: 1, link: '0'.repeat(64), ...event },
      },
    ],
    isLast: true,
  } as RunPart;
}

const context = (options = {}) => new StoreContext({ clock: () => NOW, ...options });
const restore = (sent: RunPart, options = {}, keepEncoded = false) =>
  restoredPart(sent, { context: context(options), keepEncoded });
const refused = (code: string, field: string) => expect.objectContaining({ code, field });
const deep = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const envelope = (steps: string[], data = '{}') => formatEnvelope({ steps, keyId: null, data: Buffer.from(data) });
const KEYS = { keys: { k: new Uint8Array(32) }, current: 'k' };

describe('restored parts', () => {
  it.each([
    ['a plain payload', { payload: '{"a":{"$tidemark":1}}', extra: '{"labels":{"a":"b"},"note":[1]}' }],
    ['integers beyond 2^53, which an append writes too', { payload: JSON.stringify({ n: 2 ** 60 }) }],
    ['a clock that is slightly ahead', { persistedAt: '2026-01-01T00:04:59.000Z' }],
    ['63 levels in an object', { payload: deep(63) }],
  ])('are accepted: %s', (_, event) => {
    expect(restore(part(event)).events).toHaveLength(1);
  });

  it.each([
    ['a time in the future', { persistedAt: '2026-01-01T00:05:01.000Z' }, 'INVALID_ARGUMENT', 'persistedAt'],
    [
      'a redaction in the future',
      { redaction: redaction('9999-01-01T00:00:00.000Z') },
      'INVALID_ARGUMENT',
      'redaction.at',
    ],
    [
      'a reason that is too long',
      { redaction: redaction(TIME, 'x'.repeat(3_000)) },
      'INVALID_ARGUMENT',
      'redaction.reason',
    ],
    ['a large payload', { payload: `{"a":"${'x'.repeat(600_000)}"}` }, 'PAYLOAD_TOO_LARGE', 'payload'],
    ['a payload of 60 MiB', { payload: `{"a":"${'x'.repeat(60 * 1024 * 1024)}"}` }, 'PAYLOAD_TOO_LARGE', 'payload'],
    ['a payload nested too deeply', { payload: deep(64) }, 'INVALID_PAYLOAD', 'payload'],
    ['a payload that is not an object', { payload: '[]' }, 'INVALID_ARGUMENT', 'payload'],
    ['a reserved member', { payload: '{"a":1,"$tidemark":{}}' }, 'INVALID_PAYLOAD', 'payload.$tidemark'],
    [
      'a reserved member written with an escape',
      { payload: '{"\\u0024tidemark":{}}' },
      'INVALID_PAYLOAD',
      'payload.$tidemark',
    ],
    ['a reserved member after a space', { payload: '{ "$tidemark":{}}' }, 'INVALID_PAYLOAD', 'payload.$tidemark'],
    ['an envelope without its parts', { payload: '{"$tidemark":5}' }, 'INVALID_PAYLOAD', 'payload'],
    ['an envelope of an unknown codec', { payload: envelope(['x']) }, 'INVALID_PAYLOAD', 'payload'],
    ['an envelope whose content is not an object', { payload: envelope([], '[]') }, 'INVALID_ARGUMENT', 'payload'],
    ['another tenant in the extra fields', { extra: '{"tenantId":"other"}' }, 'INVALID_ARGUMENT', 'extra.tenantId'],
    ['another time in the extra fields', { extra: '{"persistedAt":"x"}' }, 'INVALID_ARGUMENT', 'extra.persistedAt'],
    ['large extra fields', { extra: `{"a":"${'x'.repeat(70_000)}"}` }, 'INVALID_ARGUMENT', 'extra'],
    ['large labels', { extra: `{"labels":{"a":"${'x'.repeat(600)}"}}` }, 'INVALID_ARGUMENT', 'labels.a'],
    ['a label that is not a string', { extra: '{"labels":{"a":1}}' }, 'INVALID_ARGUMENT', 'labels.a'],
    ['a parent that is not an id', { extra: '{"parentRunId":null}' }, 'INVALID_ARGUMENT', 'parentRunId'],
    ['a trace that is not a string', { extra: '{"traceparent":5}' }, 'INVALID_ARGUMENT', 'traceparent'],
    ['an empty trace', { extra: '{"traceparent":""}' }, 'INVALID_ARGUMENT', 'traceparent'],
    [
      'an adapter version that is not a string',
      { extra: '{"adapterVersion":[]}' },
      'INVALID_ARGUMENT',
      'adapterVersion',
    ],
    ['a run event with a step', { eventType: 'RunStarted', stepId: 's' }, 'INVALID_ARGUMENT', 'stepId'],
  ])('are refused: %s', (_, event, code, field) => {
    expect(() => restore(part(event))).toThrow(refused(code, field));
  });

  it('are rejected when the head has a time in the future', () => {
    expect(() => restore(part({}, { updatedAt: '9999-01-01T00:00:00.000Z' }))).toThrow(
      refused('INVALID_ARGUMENT', 'updatedAt'),
    );
  });

  it('are rejected when this store could not read a plain payload', () => {
    expect(() => restore(part({ payload: '{"a":1}' }), { codec: encryption(KEYS) })).toThrow(
      refused('INVALID_PAYLOAD', 'payload'),
    );
    expect(() => restore(part({ payload: '{"a":1}' }), { codec: encryption(KEYS) }, true)).toThrow(
      refused('INVALID_PAYLOAD', 'payload'),
    );
  });

  it('keep encoded payloads with keepEncoded, within the size limit', () => {
    expect(restore(part({ payload: envelope(['x']) }), {}, true).events[0]!.payload).toBe(envelope(['x']));
    const large = envelope(['x'], 'x'.repeat(900_000));
    expect(() => restore(part({ payload: large }), {}, true)).toThrow(refused('PAYLOAD_TOO_LARGE', 'payload'));
  });

  it('are limited by their decompressed size', () => {
    const codec = compression();
    const payloadContext = { tenantId: 'acme', kind: 'event' as const, owner: 'run', item: 'key' };
    const stored = (bytes: number) =>
      context({ codec }).payloads.encode(JSON.stringify({ a: 'x'.repeat(bytes) }), payloadContext);
    expect(restore(part({ payload: stored(500_000) }), { codec }).events).toHaveLength(1);
    expect(() => restore(part({ payload: stored(600_000) }), { codec })).toThrow(
      refused('PAYLOAD_TOO_LARGE', 'payload'),
    );
    expect(() => restore(part({ payload: stored(80_000_000) }), { codec })).toThrow(
      refused('INVALID_PAYLOAD', 'payload'),
    );
  });
});

function redaction(at: string, reason = 'because') {
  return { at, by: 'somebody', reason, payloadHash: '0'.repeat(64) };
}
