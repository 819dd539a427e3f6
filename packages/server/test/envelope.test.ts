/** Events of requests with an incomplete envelope: which ones the server completes, and how it refuses the others (GEN-11). */
import { isTidemarkError } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { send, startServer } from './running.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const BOTH_WAYS = /UUID.*idempotencyKey.*Idempotency-Key/;
const SAID = { eventType: 'UserSaid', payload: { text: 'hi' } };

describe('an event without an eventId', () => {
  it.for([
    ['the key in the body', { idempotencyKey: 'message-7' }, {}],
    ['the key in a header', {}, { 'idempotency-key': 'message-7' }],
  ] as const)('is stored once with %s, and a retry returns the stored event', async ([, body, headers]) => {
    const { url, store } = await startServer();
    const path = `${url}/v1/runs/r/events`;
    const [first, again] = [
      await send(path, 'POST', { ...SAID, ...body }, headers),
      await send(path, 'POST', { ...SAID, ...body }, headers),
    ];
    expect([first.status, again.status]).toEqual([201, 200]);
    const { eventId } = (await first.json()) as { eventId: string };
    expect(eventId).toMatch(UUID_V4);
    expect(await again.json()).toMatchObject({ eventId, runSeq: 1, idempotent: true, payloadMatches: true });
    const [event, ...others] = await store.runs.fetchEvents('r');
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      eventId,
      tenantId: 'default',
      projectId: 'default',
      engineAttemptId: 1,
      logicalAttemptId: 1,
      idempotencyKey: 'message-7',
    });
    expect(Date.parse(event!.emittedAt)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is rejected without a key, and the error names both options', async () => {
    const { url, store } = await startServer();
    const calls = [
      send(`${url}/v1/runs/r/events`, 'POST', SAID),
      send(`${url}/v1/events`, 'POST', { ...SAID, runId: 'r' }),
      send(`${url}/v1/events`, 'POST', [
        { ...SAID, runId: 'r', idempotencyKey: 'k' },
        { ...SAID, runId: 'r' },
      ]),
      // The header identifies one event, so it cannot be used for a list.
      send(`${url}/v1/events`, 'POST', [{ ...SAID, runId: 'r' }], { 'idempotency-key': 'k' }),
      send(`${url}/v1/runs/r/events`, 'POST', { eventType: 'RunStarted' }),
    ];
    for (const answer of await Promise.all(calls)) {
      expect(answer.status).toBe(400);
      const problem = (await answer.json()) as { detail: string };
      expect(problem).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'eventId', outcome: 'rejected' });
      expect(problem.detail).toMatch(BOTH_WAYS);
      expect(problem.detail).not.toContain('null');
    }
    expect(await store.runs.headSeq('r')).toBe(0);
  });

  it('is rejected together with its other faults', async () => {
    const { url } = await startServer();
    const faulty = { emittedAt: 'SECRET', engineAttemptId: 0, planId: '', runSeq: 1 };
    const answer = await send(`${url}/v1/events`, 'POST', faulty);
    expect(answer.status).toBe(400);
    const { errors, ...problem } = (await answer.json()) as { errors: { field: string; rule: string }[] };
    const fields = ['runId', 'eventType', 'eventId', 'emittedAt', 'planId', 'engineAttemptId', 'runSeq'];
    expect(errors.map(({ field }) => field)).toEqual(fields);
    expect(problem).toMatchObject(errors[0]!);
    expect(errors[2]!.rule).toMatch(BOTH_WAYS);
    expect(JSON.stringify(errors)).not.toContain('SECRET');
  });

  it('fails alone among the lines of a request', async () => {
    const { url } = await startServer();
    const lines = [{ ...SAID, idempotencyKey: 'k' }, SAID, { ...SAID, eventId: crypto.randomUUID() }];
    const body = lines.map((line) => JSON.stringify(line)).join('\n');
    const answer = await send(`${url}/v1/runs/r/events`, 'POST', body, { 'content-type': 'application/x-ndjson' });
    const results = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(results.map(({ status }) => status)).toEqual([201, 400, 201]);
    expect(results[1].problem.errors).toEqual([{ field: 'eventId', rule: expect.stringMatching(BOTH_WAYS) }]);
  });

  it('reports the usual rule if the eventId is present but invalid', async () => {
    const { url } = await startServer();
    const answer = await send(`${url}/v1/runs/r/events`, 'POST', { ...SAID, eventId: null });
    expect(await answer.json()).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'eventId', rule: 'a version 4 UUID' });
  });
});

describe('the client', () => {
  it('sends an eventId with every event, and the error of a rejected event lists its faults', async () => {
    const { client, store } = await startServer();
    await client.runs.appendEvent({ runId: 'r', eventType: 'UserSaid' });
    await client.runs.appendEvents([{ runId: 'r', eventType: 'UserSaid' }]);
    await client.forTenant('acme').runs.appendEvent({ runId: 'other', eventType: 'UserSaid' });
    expect(await store.runs.headSeq('r')).toBe(2);
    expect(await store.forTenant('acme').runs.headSeq('other')).toBe(1);
    const faulty = { runId: '', eventType: 'UserSaid', emittedAt: 'yesterday' };
    const errors = await Promise.all(
      [client, store].map(({ runs }) => runs.appendEvent(faulty).catch((error: unknown) => error)),
    );
    for (const error of errors) {
      if (!isTidemarkError(error, 'INVALID_ARGUMENT')) throw error;
      expect(error.errors?.map(({ field }) => field)).toEqual(['runId', 'emittedAt']);
      expect(error.message).toContain('also invalid: emittedAt');
    }
    const local = client.runs.appendEvent({ runId: 'r', eventType: 'UserSaid', payload: { n: Number.NaN } });
    await expect(local).rejects.toMatchObject({ code: 'INVALID_PAYLOAD', errors: [{ field: 'payload.n' }] });
  });
});
