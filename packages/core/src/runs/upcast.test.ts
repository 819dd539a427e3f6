/** Events of version 1: what is kept, renamed and refused. */
import { expect, it } from 'vitest';
import { upcastV1 } from './upcast.ts';

const SCOPE = { tenantId: 't', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' };
const UUID = '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e';
const V1 = {
  runId: 'r',
  eventId: UUID,
  eventType: 'Progress',
  idempotencyKey: 'key',
  emittedAt: '2026-01-01T00:00:00Z',
};

it('keeps an event that has only the required fields', () => {
  expect(upcastV1(V1, SCOPE)).toEqual({ ...V1, ...SCOPE, engineAttemptId: 1, logicalAttemptId: 1 });
});

it('keeps the sequence under another name, and drops the time at which it was stored', () => {
  const event = upcastV1({ ...V1, runSeq: 7, persistedAt: '2026-01-01T00:00:01Z', causedBySignalId: 's' }, SCOPE);
  expect(event).toMatchObject({ sourceRunSeq: 7, causedBySignalId: 's' });
  for (const name of ['runSeq', 'persistedAt', 'sourceEventId', 'payload', 'eventData'])
    expect(event).not.toHaveProperty(name);
});

it('replaces an id that is not a version 4 UUID, and keeps it', () => {
  for (const eventId of ['1', UUID.replace('-4', '-1'), `${UUID}0`])
    expect(upcastV1({ ...V1, eventId }, SCOPE, () => 'new')).toMatchObject({ eventId: 'new', sourceEventId: eventId });
  expect(upcastV1(V1, SCOPE, () => 'new')).toMatchObject({ eventId: UUID });
});

it.each([
  [{ a: 1 }, { a: 1 }],
  [[1], { value: [1] }],
  [null, { value: null }],
  ['text', { value: 'text' }],
])('turns the data %j into the payload %j', (eventData, payload) => {
  expect(upcastV1({ ...V1, eventData }, SCOPE).payload).toEqual(payload);
});

it('reads attempts as numbers, and rejects others by name', () => {
  const attempts = { engineAttemptId: '12', logicalAttemptId: 3 };
  expect(upcastV1({ ...V1, ...attempts }, SCOPE)).toMatchObject({ engineAttemptId: 12, logicalAttemptId: 3 });
  for (const field of ['engineAttemptId', 'logicalAttemptId'])
    for (const wrong of ['0', '', '1.5', '01', ' 1', 0, -1, 1.5])
      expect(() => upcastV1({ ...V1, [field]: wrong }, SCOPE), `${field} ${wrong}`).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
      );
});
