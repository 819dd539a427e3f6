/** Promises of the store as a whole: info, capabilities, errors, limits, closing and reopening (GEN-1 to GEN-8). */
import type { Capability, Store, TidemarkError } from '@tidemark/core';
import { CAPABILITIES, CONTRACT_VERSION, defineProjection, ERROR_CODES, isTidemarkError } from '@tidemark/core';
import { expect, expectCode, expectEqual, expectNewRevision } from '../expect.ts';
import type { Bench, ConformanceCase } from '../kit.ts';
import { generalCase } from './define.ts';
import { take } from './iterate.ts';
import { readTexts } from './kv/fields.ts';
import { runEvent, wholeLog } from './runs/events.ts';

const CLOCKS = ['server', 'process', 'unknown'];
const DURABILITIES = ['none', 'process-crash', 'host-crash', 'node-loss', 'unknown'];

const NOTHING_KEPT = defineProjection({ name: 'nothing', version: 1, initial: {}, on: {} });

/** One call for each capability that has methods. */
const SAMPLE_CALLS: Partial<Record<Capability, (store: Store, bench: Bench) => Promise<unknown>>> = {
  runs: (store) => store.runs.headSeq('r'),
  'runs.feed': (store) => store.runs.feedPage(),
  'runs.notices': (store) => store.runs.feedPage({ notices: true }),
  'runs.listByUpdate': (store) => store.runs.listRuns({ orderBy: 'updatedAt' }),
  'runs.transactions': (store, bench) =>
    store.runs.appendEvent(runEvent(bench, { runId: bench.id('run') }), { transaction: {} }),
  'runs.inlineProjections': (store, bench) =>
    store.runs.appendEvent(runEvent(bench, { runId: bench.id('run') }), { projections: [NOTHING_KEPT] }),
  kv: (store) => store.kv.get('k'),
  'kv.watch': (store) => take(1, (signal) => store.kv.watch('', { signal })),
  'kv.atomicBatch': (store) => store.kv.batch([{ op: 'delete', key: 'k' }]),
  events: (store) => store.agents.loadHistory('t'),
  bindings: (store) => store.agents.listRemoteBindings('t'),
  pauses: (store) => store.agents.loadPlannerState('t'),
  memory: (store) => store.agents.loadMemoryState('k'),
  tasks: (store) => store.agents.listTasks('s'),
  updates: (store) => store.agents.listUpdates('s'),
  steering: (store) => store.agents.listSteering('s'),
  trajectories: (store) => store.agents.getTrajectory('t', 's'),
  plannerEvents: (store) => store.agents.listPlannerEvents('t'),
  sessions: (store) => store.agents.listSessions(),
  artifacts: (store) => store.artifacts.exists('a'),
};

/** Calls with options, by the capability they need. Writes go to the case's own ids. */
function boundedCalls(
  bench: Bench,
  options: { signal?: AbortSignal; timeoutMs?: number },
): [Capability, string, () => Promise<unknown>][] {
  const { runs, kv } = bench.tenant;
  return [
    ['runs', 'appendEvent', () => runs.appendEvent(runEvent(bench, { runId: 'bounded' }), options)],
    ['runs', 'appendEvents', () => runs.appendEvents([runEvent(bench, { runId: 'bounded' })], options)],
    ['runs', 'fetchEvents', () => runs.fetchEvents('bounded', options)],
    ['runs', 'headSeq', () => runs.headSeq('bounded', options)],
    ['runs', 'getSnapshot', () => runs.getSnapshot('bounded', options)],
    ['runs', 'listRuns', () => runs.listRuns(options)],
    ['kv', 'get', () => kv.get('bounded', options)],
    ['kv', 'put', () => kv.put('bounded', { a: '1' }, options)],
    ['kv', 'setField', () => kv.setField('bounded', 'a', '1', options)],
    ['kv', 'compareAndSwap', () => kv.compareAndSwap('bounded', 'a', null, '1', options)],
    ['kv', 'swap', () => kv.swap('bounded', { set: { a: '1' } }, options)],
    ['kv', 'scanPage', () => kv.scanPage('', options)],
  ];
}

async function nothingWasWritten({ tenant, store }: Bench): Promise<void> {
  if (store.info.capabilities.runs) expectEqual(await tenant.runs.headSeq('bounded'), 0, 'no event was written');
  if (store.info.capabilities.kv) expectEqual(await tenant.kv.get('bounded'), null, 'no record was written');
}

export const GENERAL_CASES: readonly ConformanceCase[] = [
  generalCase({
    id: 'general/info-is-complete',
    title: 'info contains backend, contract version, every capability, durability, clock and limits',
    proves: ['GEN-7', 'GEN-6', '004 §5', '001 §6'],
    async run({ store }) {
      const { info } = store;
      expect(info.backend.length > 0 && info.version.length > 0, 'backend and version are named');
      expectEqual(info.contractVersion, CONTRACT_VERSION, 'the contract version is that of this kit');
      expectEqual(
        Object.keys(info.capabilities).sort(),
        [...CAPABILITIES].sort(),
        'every capability is declared, and no other',
      );
      expect(
        Object.values(info.capabilities).every((it) => typeof it === 'boolean'),
        'capabilities are true or false',
      );
      expect(DURABILITIES.includes(info.durability), `durability is one of ${DURABILITIES.join(', ')}`);
      expect(CLOCKS.includes(info.clock), `the clock is one of ${CLOCKS.join(', ')}`);
      for (const limit of [info.limits.eventPayloadBytes, info.limits.documentBytes, info.limits.fieldBytes]) {
        expect(Number.isSafeInteger(limit) && limit > 0, 'limits are numbers of bytes');
      }
    },
  }),
  generalCase({
    id: 'general/undeclared-is-unsupported',
    title: 'operations that the store does not declare are rejected with UNSUPPORTED; declared ones work',
    proves: ['GEN-7'],
    async run(bench) {
      for (const [capability, call] of Object.entries(SAMPLE_CALLS) as [
        Capability,
        (store: Store, bench: Bench) => Promise<unknown>,
      ][]) {
        if (!bench.store.info.capabilities[capability]) {
          await expectCode('UNSUPPORTED', `${capability} is declared absent`, () => call(bench.tenant, bench));
        } else if (capability !== 'runs.transactions' && capability !== 'kv.watch') {
          await call(bench.tenant, bench);
        }
      }
    },
  }),
  generalCase({
    id: 'general/doctor-is-honest',
    title: 'the doctor agrees with info, names a remedy for each weakness and never reports unknown as safe',
    proves: ['GEN-6'],
    async run({ store }) {
      const report = await store.doctor();
      expectEqual(
        [report.backend, report.durability],
        [store.info.backend, store.info.durability],
        'doctor and info agree',
      );
      expectEqual(
        report.ok,
        report.findings.every((it) => it.status !== 'fail'),
        'ok means that no finding failed',
      );
      for (const finding of report.findings) {
        expect(
          ['ok', 'warn', 'fail', 'unknown'].includes(finding.status) && finding.check && finding.message,
          'a finding has a status, a check and a message',
        );
        const healthy = finding.status === 'ok' || finding.status === 'unknown';
        expect(healthy || finding.fix, `${finding.check} says how to fix it`);
      }
      if (report.durability === 'none' || report.durability === 'unknown') {
        expect(
          report.findings.some((it) => it.status !== 'ok'),
          'a store that may lose acknowledged writes has a finding that is not ok',
        );
      }
    },
  }),
  generalCase({
    id: 'general/ping-answers',
    title: 'ping reports that the engine responds',
    proves: ['003 ping'],
    async run({ store, tenant }) {
      expectEqual([await store.ping(), await tenant.ping()], [true, true], 'the store and its views respond');
    },
  }),
  generalCase({
    id: 'general/errors-are-typed',
    title: 'errors have a stable code, a helpful message and retryable, and state whether anything was written',
    proves: ['GEN-1', 'GEN-8'],
    needs: ['runs', 'kv'],
    async run(bench) {
      const failures: (() => Promise<unknown>)[] = [
        () => bench.tenant.runs.fetchEvents(''),
        () => bench.tenant.runs.projectSnapshot(bench.id('run')),
        () => bench.tenant.runs.appendEvent(runEvent(bench, { runId: 'r', payload: { n: Number.NaN } })),
        () => bench.tenant.runs.appendEvent(runEvent(bench, { runId: 'r' }), { expectedSeq: 9 }),
        () => bench.tenant.kv.put('k', {}),
        () => bench.tenant.kv.put('k', { f: new Uint8Array(bench.store.info.limits.fieldBytes + 1) }),
      ];
      for (const fail of failures) {
        const error: unknown = await fail().then(
          () => undefined,
          (it) => it,
        );
        expect(isTidemarkError(error), `a TidemarkError is thrown, not ${String(error)}`);
        expect(Object.hasOwn(ERROR_CODES, error.code), `${error.code} is one of the stable codes`);
        expect(error.message.length > 10, 'the message says what to do');
        expectEqual(
          [error.retryable, error.outcome],
          [false, 'rejected'],
          'these errors are not retryable and wrote nothing',
        );
      }
    },
  }),
  generalCase({
    id: 'general/aborted-calls-write-nothing',
    title: 'a call whose signal is aborted fails with ABORTED and writes nothing',
    proves: ['GEN-3', '000 save_event'],
    async run(bench) {
      const signal = AbortSignal.abort();
      for (const [capability, name, call] of boundedCalls(bench, { signal })) {
        if (bench.store.info.capabilities[capability]) await expectCode('ABORTED', `${name} does not start`, call);
      }
      await nothingWasWritten(bench);
    },
  }),
  generalCase({
    id: 'general/time-limits-are-checked',
    title: 'an invalid timeoutMs fails with INVALID_ARGUMENT, and nothing is written',
    proves: ['GEN-3'],
    async run(bench) {
      for (const timeoutMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5' as never]) {
        for (const [capability, name, call] of boundedCalls(bench, { timeoutMs })) {
          if (!bench.store.info.capabilities[capability]) continue;
          const error = await expectCode('INVALID_ARGUMENT', `${name} refuses timeoutMs ${timeoutMs}`, call);
          expectEqual(error.field, 'timeoutMs', 'the error names timeoutMs');
        }
      }
      await nothingWasWritten(bench);
    },
  }),
  generalCase({
    id: 'general/signals-are-checked',
    title: 'a signal that is not an AbortSignal fails with INVALID_ARGUMENT, and nothing is written',
    proves: ['GEN-3'],
    async run(bench) {
      for (const signal of [null, true, 'now', {}, { aborted: false }] as never[]) {
        for (const [capability, name, call] of boundedCalls(bench, { signal })) {
          if (!bench.store.info.capabilities[capability]) continue;
          const error = await expectCode('INVALID_ARGUMENT', `${name} refuses ${JSON.stringify(signal)}`, call);
          expectEqual(error.field, 'signal', 'the error names signal');
        }
      }
      await nothingWasWritten(bench);
    },
  }),
  generalCase({
    id: 'general/bounded-calls-succeed',
    title: 'a call within its time limit succeeds with a signal and timeoutMs',
    proves: ['GEN-3'],
    async run(bench) {
      const options = { signal: new AbortController().signal, timeoutMs: 20_000 };
      for (const [capability, , call] of boundedCalls(bench, options)) {
        if (bench.store.info.capabilities[capability]) await call();
      }
    },
  }),
];

export const CLOSING_CASES: readonly ConformanceCase[] = [
  generalCase({
    id: 'general/reopening-keeps-everything',
    title: 'acknowledged writes are still stored when the store is opened again',
    proves: ['GEN-6', 'GEN-7', '003 close'],
    needs: ['reopen', 'runs', 'kv'],
    closesStore: true,
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, eventType: 'RunStarted', payload: { text: 'a\0b' }, labels: { a: 'b' } });
      const first = await bench.tenant.runs.appendEvent(event);
      const gone = bench.id('run');
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId: gone }));
      await bench.tenant.runs.deleteRun(gone);
      const before = await wholeLog(bench.tenant, runId);
      const { head } = await bench.tenant.runs.verify(runId);
      const { revision } = await bench.tenant.kv.put('k', { a: '1' }, { ttl: '1h' });
      await bench.tenant.kv.compareAndSwap('k', 'a', '1', '2', { requestId: 'q' });
      await bench.tenant.kv.put('deleted', { a: '1' });
      await bench.tenant.kv.delete('deleted');

      const store = (await bench.reopen()).forTenant(bench.tenantId);
      expectEqual(await wholeLog(store, runId), before, 'the log is the same');
      expectEqual((await store.runs.verify(runId)).head, head, 'the hash is the same');
      const retry = await store.runs.appendEvent(event);
      expectEqual([retry.idempotent, retry.runSeq], [true, first.runSeq], 'keys are remembered');
      const next = await store.runs.appendEvent(runEvent(bench, { runId }));
      expect(next.runSeq > first.runSeq && next.persistedAt >= first.persistedAt, 'sequence and time continue');
      await expectCode('RUN_DELETED', 'tombstones stay', () =>
        store.runs.appendEvent(runEvent(bench, { runId: gone })),
      );
      expectEqual((await store.runs.projectSnapshot(runId)).status, 'RUNNING', 'snapshots are correct');
      const record = await store.kv.get('k');
      expect(record && record.ttl !== undefined && record.ttl <= 3_600_000, 'records keep their time to live');
      expectEqual(await readTexts(store, 'k'), { a: '2' }, 'records keep their fields');
      expectEqual(
        await store.kv.compareAndSwap('k', 'a', '1', '2', { requestId: 'q' }),
        true,
        'records keep their request ids',
      );
      const again = await store.kv.put('k', { a: '3' });
      expectNewRevision(store, again.revision, revision!, 'revisions continue');
      expectEqual(await store.kv.get('deleted'), null, 'deleted records stay deleted');
    },
  }),
  generalCase({
    id: 'general/views-never-widen',
    title: 'a tenant view opens its own tenant and rejects any other',
    proves: ['GEN-10'],
    async run(bench) {
      const { tenant, tenantId } = bench;
      expectEqual(tenant.info.tenantId, tenantId, 'a view names its tenant');
      expectEqual(tenant.forTenant(tenantId).info.tenantId, tenantId, 'a view of the same tenant is allowed');
      for (const other of [bench.id('other'), `${tenantId}2`, tenantId.toUpperCase(), tenantId.slice(0, -1)])
        await expectCode('TENANT_MISMATCH', `a view of ${other} is refused`, async () => tenant.forTenant(other));
      await expectCode('INVALID_ARGUMENT', 'a view needs an id', async () => tenant.forTenant(''));
    },
  }),
  generalCase({
    id: 'general/closed-store-refuses',
    title: 'a closed store and its views reject every call with STORE_CLOSED, and closing twice is allowed',
    proves: ['GEN-1', '003 close'],
    closesStore: true,
    async run(bench) {
      const { store, tenant } = bench;
      const live = store.info.capabilities.runs
        ? take(1, (signal) => tenant.runs.tail(bench.id('run'), { signal }))
        : Promise.resolve([]);
      const tailEnd = live.catch((error: TidemarkError) => error.code);
      await store.close();
      await store.close();
      expectEqual(store.info.contractVersion, CONTRACT_VERSION, 'info can still be read');
      for (const [capability, call] of Object.entries(SAMPLE_CALLS) as [
        Capability,
        (store: Store, bench: Bench) => Promise<unknown>,
      ][]) {
        if (!store.info.capabilities[capability]) continue;
        await expectCode('STORE_CLOSED', `${capability} is refused`, () => call(store, bench));
        await expectCode('STORE_CLOSED', `${capability} is refused in views`, () => call(tenant, bench));
      }
      const end = await tailEnd;
      expect(Array.isArray(end) || end === 'STORE_CLOSED', 'a waiting tail has ended');
    },
  }),
];
