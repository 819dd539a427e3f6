/** Inline projections: states that are committed together with their events, or not at all. */
import { defineProjection, numberOf, type Projection, type RunEventInput, type Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, upTo, whileWorking } from '../iterate.ts';
import { appendNumbered, runEvent, wholeLog } from './events.ts';

/** More events than a store folds inside a transaction, which blocks other writers. */
const LONG_LOG = 150;
const WRITERS = 6;
const APPENDS = 8;

interface Sum {
  count: number;
  sum: number;
  /** The time of the last stored event. */
  at: string;
}

/** Counts and sums `Progress` events. The handler throws for a negative `n`. */
function sums(bench: Bench): Projection<Sum> {
  return defineProjection({
    name: bench.id('sums'),
    version: 1,
    initial: { count: 0, sum: 0, at: '' },
    on: {
      Progress(state: Sum, { payload, persistedAt }) {
        const n = payload?.n as number;
        if (n < 0) throw new RangeError(`${n} is below zero`);
        state.count += 1;
        state.sum += n;
        state.at = persistedAt;
      },
    },
  });
}

function progress(bench: Pick<Bench, 'tenantId'>, runId: string, n: number): RunEventInput {
  return runEvent(bench, { runId, payload: { n } });
}

/** Returns the sequences of the stored states of a projection, without making a call that would update them. */
async function storedSeqs(store: Store, { name, version }: Projection<unknown>): Promise<(number | null)[]> {
  const entries = await all(store.kv.scan(`tidemark.projections.${name}.${version}.`));
  return entries.map(({ record }) => numberOf(record.fields.seq));
}

/** Expects the stored state to equal the fold of the whole log, with the given sum. */
async function expectFollowed(
  store: Store,
  projection: Projection<Sum>,
  runId: string,
  expected: Omit<Sum, 'at'>,
): Promise<void> {
  const log = await wholeLog(store, runId);
  expectEqual(await storedSeqs(store, projection), [log.length], 'the stored state is up to date with the log');
  const at = log.at(-1)!.persistedAt;
  expectEqual(
    (await projection.get(store, runId))?.state,
    { ...expected, at },
    'the stored state equals the fold of the log',
  );
}

const inlineCase = (body: Omit<ConformanceCase, 'domain' | 'needs'>) =>
  runsCase({ ...body, needs: ['kv', 'runs.inlineProjections'] });

export const INLINE_PROJECTION_CASES: readonly ConformanceCase[] = [
  inlineCase({
    id: 'runs/inline-projections-commit-together',
    title: 'a reader that sees an event appended with a projection always finds it in the stored state',
    proves: ['RUN-13', 'RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const projection = sums(bench);
      const reader = (await bench.peer()).forTenant(bench.tenantId);
      const work = async () => {
        for (const n of upTo(20)) {
          const { runSeq } = await bench.tenant.runs.appendEvent(progress(bench, runId, n), {
            projections: [projection],
          });
          expectEqual(
            await storedSeqs(bench.tenant, projection),
            [runSeq],
            'the state is stored when the append returns',
          );
        }
      };
      await whileWorking(work(), async () => {
        const [before = 0] = await storedSeqs(reader, projection);
        const head = await reader.runs.headSeq(runId);
        const [after = 0] = await storedSeqs(reader, projection);
        expect(before! <= head, `a state of ${before} events is stored while the log has ${head}`);
        expect(after! >= head, `a state of ${after} events is stored while the log has ${head}`);
      });
      await expectFollowed(reader, projection, runId, { count: 20, sum: 210 });
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-undo-the-append',
    title: 'a handler that throws rolls back the append: no event, no state, no sequence used',
    proves: ['RUN-7', 'GEN-1'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const projections = [sums(bench), sums(bench)] as const;
      await runs.appendEvent(progress(bench, runId, 1), { projections });
      const bad = [progress(bench, runId, 2), progress(bench, runId, -1), progress(bench, runId, 3)];
      const error = await expectCode('PROJECTION_FAILED', 'the handler throws', () =>
        runs.appendEvents(bad, { projections }),
      );
      expectEqual(
        [error.field, error.runId, error.runSeq],
        [`${projections[0].name}.on.Progress`, runId, 3],
        'the error names handler, run and event',
      );
      const [log, head] = [await wholeLog(bench.tenant, runId), await runs.headSeq(runId)];
      expectEqual([log.length, head], [1, 1], 'the log has no event of the failed append');
      const fresh = bench.id('run');
      await expectCode('PROJECTION_FAILED', 'a failed append to a new run is undone too', () =>
        runs.appendEvent(progress(bench, fresh, -1), { projections }),
      );
      expectEqual(await runs.headSeq(fresh), 0, 'the new run is not created');
      const mixed = await Promise.allSettled(
        [4, -1, 5].map((n) => runs.appendEvent(progress(bench, runId, n), { projections })),
      );
      expectEqual(
        mixed.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
        'concurrent appends are not undone',
      );
      const { runSeq } = await runs.appendEvent(progress(bench, runId, 6), { projections });
      expectEqual(runSeq, 4, 'the log continues without a gap');
      for (const projection of projections)
        await expectFollowed(bench.tenant, projection, runId, { count: 4, sum: 16 });
      expectEqual((await runs.verify(runId)).ok, true, 'the log verifies');
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-many-writers',
    title: 'concurrent writers, some without the projection, leave the state of the whole log',
    proves: ['RUN-2', 'RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const projections = [sums(bench), sums(bench)] as const;
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      let answered = 0;
      const write = async (writer: number) => {
        const { runs } = writer % 2 === 0 ? bench.tenant : peer;
        const isInline = writer % 3 > 0;
        for (const n of upTo(APPENDS)) {
          const { runSeq } = await runs.appendEvent(
            progress(bench, runId, n),
            isInline ? { projections, timeoutMs: 30_000 } : {},
          );
          if (isInline) answered = Math.max(answered, runSeq);
        }
      };
      await Promise.all(upTo(WRITERS).map(write));
      for (const projection of projections) {
        const [seq] = await storedSeqs(peer, projection);
        expect(seq! >= answered, `a state of ${seq} events is stored after an append with it returned ${answered}`);
      }
      const last = await bench.tenant.runs.appendEvent(progress(bench, runId, 0), { projections });
      const count = WRITERS * APPENDS + 1;
      expectEqual(last.runSeq, count, 'every event is in the log once');
      const sum = (WRITERS * APPENDS * (APPENDS + 1)) / 2;
      for (const projection of projections) await expectFollowed(peer, projection, runId, { count, sum });
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-catch-up',
    title: 'a projection includes events that were appended without it',
    proves: ['RUN-13'],
    async run(bench) {
      for (const length of [3, LONG_LOG]) {
        const runId = bench.id('run');
        const [projection, later] = [sums(bench), sums(bench)];
        await appendNumbered(bench, runId, length);
        let sum = (length * (length + 1)) / 2;
        await bench.tenant.runs.appendEvent(progress(bench, runId, 5), { projections: [projection] });
        await expectFollowed(bench.tenant, projection, runId, { count: length + 1, sum: sum + 5 });
        await appendNumbered(bench, runId, 2);
        sum += 5 + 3 + 7;
        await bench.tenant.runs.appendEvent(progress(bench, runId, 7), { projections: [later, projection] });
        for (const it of [projection, later]) await expectFollowed(bench.tenant, it, runId, { count: length + 4, sum });
      }
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-fold-once',
    title:
      'a retried append returns its first result and is folded once, even if it was first sent without the projection',
    proves: ['RUN-4', 'GEN-8'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const projection = sums(bench);
      const projections = [projection];
      const [one, two, three] = [1, 2, 3].map((n) => progress(bench, runId, n)) as [RunEventInput, ...RunEventInput[]];
      const first = await runs.appendEvent(one, { projections });
      const again = await runs.appendEvent(one, { projections });
      expectEqual(
        [again.runSeq, again.persistedAt, again.idempotent],
        [first.runSeq, first.persistedAt, true],
        'the result is that of the stored event',
      );
      await expectFollowed(bench.tenant, projection, runId, { count: 1, sum: 1 });
      await runs.appendEvent(two!);
      await runs.appendEvent(two!, { projections });
      await expectFollowed(bench.tenant, projection, runId, { count: 2, sum: 3 });
      const results = await runs.appendEvents([one, three!, three!, two!], { projections });
      expectEqual(
        results.map((it) => [it.runSeq, it.idempotent]),
        [
          [1, true],
          [3, false],
          [3, true],
          [2, true],
        ],
        'a batch of old and new',
      );
      await expectFollowed(bench.tenant, projection, runId, { count: 3, sum: 6 });
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-stay-within-the-tenant',
    title: 'the state of one tenant’s run does not affect another tenant’s run with the same id',
    proves: ['GEN-10', 'RUN-8'],
    async run(bench) {
      const runId = bench.id('run');
      const other = { tenantId: bench.id('tenant') };
      const theirs = bench.store.forTenant(other.tenantId);
      const projection = sums(bench);
      const projections = [projection];
      const both = [progress(bench, runId, 1), progress(other, runId, 10)];
      await bench.store.runs.appendEvents(both, { projections });
      await bench.tenant.runs.appendEvent(progress(bench, runId, 2), { projections });
      await expectFollowed(bench.tenant, projection, runId, { count: 2, sum: 3 });
      await expectFollowed(theirs, projection, runId, { count: 1, sum: 10 });
    },
  }),
  inlineCase({
    id: 'runs/inline-projections-keep-conditions',
    title: 'fences and transition checks apply to appends with projections; invalid projections are rejected',
    proves: ['RUN-7', 'RUN-11', 'GEN-1'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const projection = sums(bench);
      const projections = [projection];
      const start = runEvent(bench, { runId, eventType: 'RunStarted' });
      await runs.appendEvent(start, { projections, rejectInvalidTransitions: true });
      await expectCode('INVALID_TRANSITION', 'a running run cannot start', () =>
        runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }), {
          projections,
          rejectInvalidTransitions: true,
        }),
      );
      await runs.appendEvent(start, { projections, rejectInvalidTransitions: true });
      await expectCode('SEQ_CONFLICT', 'the run has a later sequence', () =>
        runs.appendEvent(progress(bench, runId, 1), { projections, expectedSeq: 0 }),
      );
      await runs.appendEvent(progress(bench, runId, 1), { projections, expectedSeq: 1 });
      const wrong: [string, object][] = [
        ['not an array', { projections: projection }],
        ['not a projection', { projections: [{ name: 'sums', version: 1 }] }],
        ['the same projection twice', { projections: [projection, projection] }],
        ['a transaction as well', { projections, transaction: {} }],
      ];
      for (const [what, options] of wrong) {
        const { field } = await expectCode('INVALID_ARGUMENT', what, () =>
          runs.appendEvent(progress(bench, runId, 2), options),
        );
        expect(field?.startsWith('projections'), `the error for ${what} names the option`);
      }
      await expectFollowed(bench.tenant, projection, runId, { count: 1, sum: 1 });
      expectEqual(await runs.headSeq(runId), 2, 'nothing else was written');
    },
  }),
];
