import { describe, expect, it } from 'vitest';
import { defaultIdempotencyKey, deriveIdempotencyKey } from './keys.ts';

const R = '0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a';
const plan = { planId: 'plan_abc', planVersion: '2' };

describe('deriveIdempotencyKey (RUN-5)', () => {
  it.each([
    [
      { stepId: 'model.orders', logicalAttemptId: 1, eventType: 'StepStarted' },
      '7f4b974658a54fb2aee9ecb9cefebd2eec27f3fd01f0f8c0d031dfc4a5b96e3c',
    ],
    [
      { logicalAttemptId: 1, eventType: 'RunStarted' },
      '204197f81e5dc1a8491d8e411c440a730c51a741cd48a74863d3e5c4c452640d',
    ],
    [
      { stepId: 'model.orders', logicalAttemptId: 2, eventType: 'StepFailed' },
      '599945c1a8023ece5d2ae5132a4397b8cfbe9fa1c4c08d6fc4193a9bd9a2ebcd',
    ],
  ])('reproduces the published vector of %o', (parts, key) => {
    expect(deriveIdempotencyKey({ runId: R, ...plan, ...parts })).toBe(key);
  });

  it('hashes non-ASCII parts as UTF-8', () => {
    // printf 'läufer|RUN|1|RunStarted|プラン|2' | sha256sum
    expect(
      deriveIdempotencyKey({
        runId: 'läufer',
        logicalAttemptId: 1,
        eventType: 'RunStarted',
        planId: 'プラン',
        planVersion: '2',
      }),
    ).toBe('3a889e2377c30a5e2e07fc4cba3fe9c3ddfe888166bf23a6f6351afaf1d6366a');
  });

  it('omits the plan id from a version 1 key', () => {
    // printf 'r|s|1|StepStarted|2' | sha256sum
    expect(
      deriveIdempotencyKey(
        { runId: 'r', stepId: 's', logicalAttemptId: 1, eventType: 'StepStarted', planVersion: '2' },
        { version: 1 },
      ),
    ).toBe('91a9db5d5a06483b89e27ce7c8dbd80842ef43b3855bde2ed58158b01c0cd53c');
  });

  it.each(['runId', 'stepId', 'eventType', 'planId', 'planVersion'])(
    'rejects a separator in %s and names the field',
    (field) => {
      const parts = { runId: R, stepId: 's', logicalAttemptId: 1, eventType: 'StepStarted', ...plan, [field]: 'a|b' };
      expect(() => deriveIdempotencyKey(parts)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field }));
    },
  );
});

describe('defaultIdempotencyKey (RUN-5)', () => {
  const event = { runId: R, stepId: null, logicalAttemptId: 1, ...plan, eventId: 'an-event-id' };

  it('derives the key for types that occur once per attempt', () => {
    expect(defaultIdempotencyKey({ ...event, eventType: 'RunStarted' })).toBe(
      deriveIdempotencyKey({ runId: R, logicalAttemptId: 1, eventType: 'RunStarted', ...plan }),
    );
  });

  it.each(['RunPaused', 'RunResumed', 'Progress'])('uses the event id for %s, which can occur again', (eventType) => {
    expect(defaultIdempotencyKey({ ...event, eventType })).toBe('an-event-id');
  });

  it('uses the event id when a part contains the separator', () => {
    expect(defaultIdempotencyKey({ ...event, eventType: 'RunStarted', runId: 'a|b' })).toBe('an-event-id');
  });
});

describe('the parts of a derived key', () => {
  const parts = { runId: R, logicalAttemptId: 1, eventType: 'RunStarted', ...plan };

  it('treat an absent step and null alike, and no other value', () => {
    const key = deriveIdempotencyKey(parts);
    expect(deriveIdempotencyKey({ ...parts, stepId: null })).toBe(key);
    expect(deriveIdempotencyKey({ ...parts, stepId: undefined })).toBe(key);
    expect(deriveIdempotencyKey({ ...parts, stepId: 'step' })).not.toBe(key);
  });

  it.each([
    ['stepId', ''],
    ['stepId', 'a|b'],
    ['runId', undefined],
    ['eventType', 'a|b'],
    ['planId', null],
    ['planVersion', ''],
    ['logicalAttemptId', 0],
  ])('are refused: %s %j', (field, value) => {
    expect(() => deriveIdempotencyKey({ ...parts, [field]: value } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });

  it.each([0, 3, '2'])('have no version %j', (version) => {
    expect(() => deriveIdempotencyKey(parts, { version } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'version', rule: '1 or 2' }),
    );
  });
});
