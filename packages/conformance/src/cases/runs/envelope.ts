/** The envelope: missing fields are filled in once per call, and all faults of an event are reported together (GEN-11). */
import {
  defineProjection,
  isTidemarkError,
  type RunEventInput,
  replay,
  type Store,
  TidemarkError,
  withRetries,
} from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { runEvent, wholeLog } from './events.ts';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The values of the fields that are not generated. */
const DEFAULTS = {
  projectId: 'default',
  environmentId: 'default',
  planId: 'default',
  planVersion: '1',
  engineAttemptId: 1,
  logicalAttemptId: 1,
};

/** Checks that the only event of a run has its generated fields, the tenant and the defaults. */
async function expectFilled(store: Store, runId: string, tenantId: string): Promise<void> {
  const [event, ...others] = await store.runs.fetchEvents(runId, { tenantId });
  expectEqual(others.length, 0, 'one event was stored');
  expect(UUID_V4.test(event!.eventId), `eventId is a version 4 UUID, not ${event!.eventId}`);
  expect(TIME.test(event!.emittedAt), `emittedAt has milliseconds in UTC, not ${event!.emittedAt}`);
  expect(Math.abs(Date.parse(event!.emittedAt) - Date.now()) < 3_600_000, 'emittedAt is the time of the call');
  expectEqual(event!.idempotencyKey, event!.eventId, 'the key of a repeatable type is its eventId');
  for (const [field, value] of Object.entries({ ...DEFAULTS, tenantId }))
    expectEqual(event![field], value, `${field} has its default`);
}

/**
 * Returns the tenant's view in which the replies to the first `count` appends are lost, or `null`; see
 * `Bench.withRuns`.
 */
function losing(bench: Bench, count: number): Store | null {
  let left = count;
  return bench.withRuns((engine) => ({
    async append(appends, call) {
      const outcomes = await engine.append(appends, call);
      if (left-- > 0) throw new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost');
      return outcomes;
    },
  }));
}

/** The write of a call whose reply was lost. */
async function lostWrite(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (it: unknown) => it,
  );
  expect(isTidemarkError(error, 'OUTCOME_UNKNOWN') && error.write, 'the error carries the write');
  return error.write;
}

/** A projection whose handler fails. */
const FAILING = defineProjection({
  name: 'failing',
  version: 1,
  initial: {},
  on: {
    Note() {
      throw new Error('as asked');
    },
  },
});

const FAULTY = {
  eventType: '',
  eventId: 'SECRET-id',
  emittedAt: 'SECRET-time',
  planId: 'SECRET\0',
  engineAttemptId: 0,
  idempotencyKey: '',
  runSeq: 7,
};

export const ENVELOPE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/envelope-is-filled',
    title: 'an event needs only runId and eventType: ids, time, attempts, scope and plan are filled in',
    proves: ['GEN-11', 'GEN-10'],
    async run(bench) {
      const [ofView, ofStore, batch] = [bench.id('run'), bench.id('run'), bench.id('run')];
      await bench.tenant.runs.appendEvent({ runId: ofView, eventType: 'UserSaid', payload: { text: 'hi' } });
      await expectFilled(bench.tenant, ofView, bench.tenantId);
      await bench.store.runs.appendEvent({ runId: ofStore, eventType: 'UserSaid' });
      await expectFilled(bench.store, ofStore, 'default');

      await bench.tenant.runs.appendEvent({ runId: ofView, eventType: 'UserSaid', payload: { text: 'hi' } });
      expectEqual(await bench.tenant.runs.headSeq(ofView), 2, 'without a key, every append is a new event');
      const message = { runId: ofView, eventType: 'UserSaid', idempotencyKey: 'message-7' };
      const [first, again] = [
        await bench.tenant.runs.appendEvent(message),
        await bench.tenant.runs.appendEvent(message),
      ];
      expectEqual(
        [again.eventId, again.idempotent],
        [first.eventId, true],
        'a second append with the key is a duplicate',
      );

      const given = runEvent(bench, { runId: batch, engineAttemptId: 2, logicalAttemptId: 3 });
      const { projectId, environmentId } = given;
      const bare = { runId: batch, projectId, environmentId, eventType: 'UserSaid' };
      await bench.tenant.runs.appendEvents([given, bare, bare]);
      const log = await wholeLog(bench.tenant, batch);
      expectEqual(new Set(log.map((it) => it.eventId)).size, 3, 'every event of a batch gets its own id');
      const { runSeq: _, persistedAt: __, ...kept } = log[0]!;
      expectEqual(kept, given as typeof kept, 'given fields are stored as they were sent');
    },
  }),
  runsCase({
    id: 'runs/retried-write-keeps-its-ids',
    title: 'a write whose reply was lost contains the ids it was sent with, so that a retry stores nothing twice',
    proves: ['GEN-11', 'GEN-8'],
    async run(bench) {
      const runId = bench.id('run');
      const said: RunEventInput = { runId, eventType: 'UserSaid' };
      const lossy = losing(bench, 2);
      if (lossy) {
        const one = await lostWrite(lossy.runs.appendEvent(said));
        const many = await lostWrite(lossy.runs.appendEvents([said, said]));
        expectEqual(await bench.tenant.runs.headSeq(runId), 3, 'the first attempts were stored');
        for (const write of [one, many]) await replay(bench.store, write);
        await withRetries(losing(bench, 1)!).runs.appendEvent(said);
        expectEqual(await bench.tenant.runs.headSeq(runId), 4, 'no retry was stored again');
      } else {
        const { eventId } = await bench.tenant.runs.appendEvent(said);
        const again = await bench.tenant.runs.appendEvent({ ...said, eventId });
        expectEqual(
          [again.eventId, again.persisted],
          [eventId, false],
          'the returned eventId is the one to retry with',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/faults-are-reported-together',
    title: 'the error of a rejected event lists its faults, by field and rule and without values',
    proves: ['GEN-11', 'RUN-9'],
    async run(bench) {
      const runId = bench.id('run');
      const event = { ...runEvent(bench, { runId }), ...FAULTY } as RunEventInput;
      const calls = [
        () => bench.tenant.runs.appendEvent(event),
        () => bench.tenant.runs.appendEvents([runEvent(bench, { runId }), event]),
      ];
      for (const call of calls) {
        const error = await expectCode('INVALID_ARGUMENT', 'an event with faults is refused', call);
        const { errors = [], field, rule } = error;
        expectEqual(errors.map((it) => it.field).sort(), Object.keys(FAULTY).sort(), 'every fault is listed once');
        expectEqual(errors[0], { field: field!, rule: rule! }, 'the first fault is field and rule');
        expect(
          errors.every((it) => typeof it.rule === 'string' && it.rule !== ''),
          'every fault has its rule',
        );
        expect(!JSON.stringify(errors).includes('SECRET'), 'faults do not repeat values');
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing was written');
    },
  }),
  runsCase({
    id: 'runs/handle-takes-append-options',
    title: 'the append of a handle accepts the options of appendEvent and the fields of the event',
    proves: ['GEN-11', 'RUN-7', 'RUN-11'],
    async run(bench) {
      const runId = bench.id('run');
      const run = bench.tenant.runs.handle(runId);
      await run.append('RunStarted', {}, { expectedSeq: 0, rejectInvalidTransitions: true });
      await expectCode('SEQ_CONFLICT', 'expectedSeq is compared', () => run.append('Note', {}, { expectedSeq: 0 }));
      await expectCode('INVALID_TRANSITION', 'transitions are checked', () =>
        run.append('RunResumed', {}, { rejectInvalidTransitions: true }),
      );
      const { capabilities } = bench.store.info;
      const projected = capabilities['runs.inlineProjections'] ? 'PROJECTION_FAILED' : 'UNSUPPORTED';
      await expectCode(projected, 'projections are applied', () => run.append('Note', {}, { projections: [FAILING] }));
      if (!capabilities['runs.transactions'])
        await expectCode('UNSUPPORTED', 'a transaction is not ignored', () =>
          run.append('Note', {}, { transaction: {} }),
        );
      const [event, ...others] = await wholeLog(bench.tenant, runId);
      expectEqual(others.length, 0, 'refused appends wrote nothing');
      const options = ['expectedSeq', 'rejectInvalidTransitions', 'transaction', 'projections'];
      expectEqual(
        options.filter((name) => Object.hasOwn(event!, name)),
        [],
        'options are not stored as fields of the event',
      );
    },
  }),
];
