/**
 * Compares runs with the model: appends, batches, fences, reads, snapshots and deletes over a few colliding run ids.
 */
import type { AppendResult, RunEventInput, RunEventRecord, RunSnapshot, Store } from '@tidemark/core';
import fc from 'fast-check';
import { runsCase } from '../cases/define.ts';
import { all } from '../cases/iterate.ts';
import { runEvent } from '../cases/runs/events.ts';
import type { ConformanceCase } from '../kit.ts';
import { COLLIDING_IDS, compareWithModel } from './beside.ts';

interface ModelEvent {
  key: string;
  type: string;
  step: string;
  payload: Record<string, unknown> | undefined;
  attempt: number;
}

type RunCommand =
  | { do: 'append'; runId: string; events: ModelEvent[]; fence: 'none' | 'head' | 'stale'; strict: boolean }
  | { do: 'fetch'; runId: string; afterSeq: number; limit: number }
  | { do: 'read' | 'head' | 'project' | 'verify' | 'delete'; runId: string }
  | { do: 'projectAt'; runId: string; atSeq: number }
  | { do: 'list'; status: RunSnapshot['status'] | undefined };

const EVENT: fc.Arbitrary<ModelEvent> = fc.record({
  key: fc.constantFrom('k1', 'k2', 'K1', 'k%', 'k_', '🔑', 'k1 '),
  type: fc.constantFrom(
    'RunQueued',
    'RunStarted',
    'RunPaused',
    'RunResumed',
    'RunCompleted',
    'StepStarted',
    'StepCompleted',
    'StepFailed',
    'Progress',
  ),
  step: fc.constantFrom('s', 'S', '__proto__'),
  payload: fc.option(
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    { nil: undefined },
  ),
  attempt: fc.integer({ min: 1, max: 2 }),
});

const COMMAND: fc.Arbitrary<RunCommand> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      runId: COLLIDING_IDS,
      events: fc.array(EVENT, { minLength: 1, maxLength: 4 }),
      fence: fc.constantFrom('none', 'none', 'head', 'stale'),
      strict: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('fetch' as const),
      runId: COLLIDING_IDS,
      afterSeq: fc.nat(6),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('read', 'head', 'project', 'verify'), runId: COLLIDING_IDS }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), runId: COLLIDING_IDS }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('projectAt' as const),
      runId: COLLIDING_IDS,
      atSeq: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      status: fc.constantFrom(undefined, 'PENDING', 'RUNNING', 'COMPLETED'),
    }),
  },
);

/** Event ids are numbered, so that both stores receive the same ids. */
interface RunSession {
  events: number;
}

async function applyToRuns(store: Store, command: RunCommand, session: RunSession): Promise<unknown> {
  const { runs } = store;
  switch (command.do) {
    case 'append':
      return append(store, command, session);
    case 'fetch':
      return (await runs.fetchEvents(command.runId, { afterSeq: command.afterSeq, limit: command.limit })).map(
        withoutTime,
      );
    case 'read':
      return (await all(runs.readEvents(command.runId, { limit: 2 }))).map(withoutTime);
    case 'head':
      return runs.headSeq(command.runId);
    case 'project':
      return withoutMoment(await runs.projectSnapshot(command.runId));
    case 'projectAt':
      // The contract does not define results beyond the head.
      if ((await runs.headSeq(command.runId)) < command.atSeq) return null;
      return withoutMoment(await runs.projectSnapshot(command.runId, { atSeq: command.atSeq }));
    case 'verify': {
      if ((await runs.headSeq(command.runId)) === 0) return null;
      const { ok, events } = await runs.verify(command.runId);
      return { ok, events };
    }
    case 'delete':
      return runs.deleteRun(command.runId);
    case 'list': {
      const { items } = await runs.listRuns(command.status === undefined ? {} : { status: command.status });
      return items
        .map(({ runId, status, lastEventSeq }) => ({ runId, status, lastEventSeq }))
        .sort((a, b) => (a.runId < b.runId ? -1 : 1));
    }
    default:
      return command satisfies never;
  }
}

async function append(store: Store, command: RunCommand & { do: 'append' }, session: RunSession): Promise<unknown> {
  const { runId, fence, strict } = command;
  const events = command.events.map((it) => toEvent(store, runId, it, ++session.events));
  const head = fence === 'none' ? 0 : await store.runs.headSeq(runId);
  const results = await store.runs.appendEvents(events, {
    rejectInvalidTransitions: strict,
    ...(fence === 'none' ? {} : { expectedSeq: fence === 'head' ? head : head + 1 }),
  });
  return results.map(({ persistedAt: _, payloadMatches, ...rest }: AppendResult) => ({
    ...rest,
    mismatch: payloadMatches === false,
  }));
}

function toEvent(store: Store, runId: string, event: ModelEvent, count: number): RunEventInput {
  return runEvent(
    { tenantId: store.info.tenantId! },
    {
      runId,
      eventId: `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`,
      eventType: event.type,
      idempotencyKey: event.key,
      logicalAttemptId: event.attempt,
      ...(event.type.startsWith('Step') ? { stepId: event.step } : {}),
      ...(event.payload === undefined ? {} : { payload: event.payload }),
    },
  );
}

/** Returns the event as text, so that the order of its keys is compared and prototypes are not. */
function withoutTime({ persistedAt: _, ...event }: RunEventRecord): string {
  return `${JSON.stringify(event.payload)} ${JSON.stringify(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

function withoutMoment({ projectedAt: _, version: __, violations, ...state }: RunSnapshot): unknown {
  return { ...state, violations: violations.map((it) => [it.runSeq, it.eventId]) };
}

export const RUN_MODEL_CASE: ConformanceCase = runsCase({
  id: 'model/runs',
  title: 'random sequences of run commands return the same as the reference store',
  proves: ['RUN-2', 'RUN-4', 'RUN-7', 'RUN-11', 'RUN-12', 'RUN-13', 'RUN-15', 'GEN-4', 'GEN-5'],
  needs: ['runs.denseSequences'],
  run: (bench) => compareWithModel(bench, COMMAND, applyToRuns, () => ({ events: 0 })),
});
