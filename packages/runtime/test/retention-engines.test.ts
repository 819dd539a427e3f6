/** Retention on every engine: the same data is removed, and a concurrent writer loses nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTidemarkError } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { createRetention, type RetentionPolicies } from '../src/index.ts';
import { ENGINES } from './engines.ts';

const AVAILABLE = new Set<string>(['sqlite', ...neededServers()]);
const DAY = 86_400_000;

const POLICIES: RetentionPolicies = {
  runs: [{ name: 'runs', olderThan: '90d', action: 'delete' }],
  sessions: [{ name: 'sessions', olderThan: '90d' }],
  memory: [{ name: 'memory', prefix: 'old', olderThan: '90d' }],
  artifacts: [{ name: 'artifacts', olderThan: '90d' }],
  jobs: [{ name: 'jobs', olderThan: '90d' }],
  kv: [{ name: 'kv', prefix: 'old', field: 'at', olderThan: '90d' }],
};

describe.each(Object.entries(ENGINES).filter(([name]) => AVAILABLE.has(name)))(
  'retention on %s',
  (_, createDatabase) => {
    it('removes old data of every tenant, and nothing else', { timeout: 60_000 }, async () => {
      const database = await createDatabase();
      const store = await database.open();
      onTestFinished(async () => {
        await store.close();
        await database.remove();
      });
      for (const tenantId of ['acme', 'umbrella']) {
        const { runs, agents, artifacts, jobs, kv } = store.forTenant(tenantId);
        for (let n = 0; n < 20; n++) {
          await runs.handle(`ended-${n}`).append('RunStarted');
          await runs.handle(`ended-${n}`).append('RunCompleted');
        }
        await runs.handle('living').append('RunStarted');
        await agents.saveTrajectory('trace', 'session', { steps: [] });
        await agents.saveMemoryState('old', { n: 1 });
        await agents.saveMemoryState('other', { n: 1 });
        await artifacts.putText('text', { ttl: null });
        await jobs.enqueue({ taskType: 'mail', taskId: 'done' });
        await jobs.complete((await jobs.claim({ taskType: 'mail' }, { worker: 'ada' }))!);
        await jobs.enqueue({ taskType: 'mail', taskId: 'waiting' });
        await kv.put('old', { at: Date.now() });
        await kv.put('other', { at: Date.now() });
      }
      const options = { store, policies: POLICIES, share: 1, clock: () => Date.now() + 100 * DAY };
      const plan = await createRetention(options).plan();
      expect(Object.values(plan.policies).map(({ found }) => found)).toEqual([40, 2, 2, 2, 2, 2]);
      for (const [name, { bytes }] of Object.entries(plan.policies)) expect(bytes, name).toBeGreaterThan(0);

      // Append to ended runs after they were found: each late event is rejected, or its run stays.
      const appendLate = async (n: number) => {
        await sleep(n * 4);
        try {
          await store.forTenant('acme').runs.handle(`ended-${n}`).append('Late');
          return [`ended-${n}`];
        } catch (error) {
          if (isTidemarkError(error, 'RUN_DELETED')) return [];
          throw error;
        }
      };
      let late: Promise<string[][]> | undefined;
      const probe = () => {
        late ??= Promise.all(Array.from({ length: 20 }, (_, n) => appendLate(n)));
      };
      const { policies, problems } = await createRetention({ ...options, probe }).run();
      const revived = (await late!).flat();
      expect(problems).toEqual([]);
      expect(policies.runs!.deleted + policies.runs!.spared).toBe(policies.runs!.found);
      const { runs, agents, artifacts, jobs, kv } = store.forTenant('acme');
      const there = (await runs.listRuns()).items;
      expect(there.map(({ runId }) => runId).sort()).toEqual(['living', ...revived].sort());
      for (const { runId } of there) expect(await runs.verify(runId)).toMatchObject({ ok: true });
      expect((await agents.listSessions()).items).toEqual([]);
      expect((await agents.listMemory()).items.map(({ key }) => key)).toEqual(['other']);
      expect((await artifacts.list()).items).toEqual([]);
      expect([await jobs.types('completed'), await jobs.types('pending')]).toEqual([[], ['mail']]);
      expect((await Array.fromAsync(kv.scan('o'))).map(({ key }) => key)).toEqual(['other']);
    });
  },
);
