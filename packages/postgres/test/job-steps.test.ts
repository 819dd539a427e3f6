/** Claims and moves of held jobs share one statement, which the server completes with revisions, times and checksums. */
import type { ClaimedJob, Store, StoreWrite, TidemarkError } from '@tidemark/core';
import { replay } from '@tidemark/core';
import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

const TYPE = 'mail';
const KEY = `gbe.state.tasks.${TYPE}.`;

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

async function enqueue(store: Store, ...taskIds: readonly string[]): Promise<void> {
  for (const taskId of taskIds) await store.jobs.enqueue({ taskType: TYPE, taskId });
}

const claimNext = (store: Store) => store.jobs.claim({ taskType: TYPE }, { worker: 'w' });

/** Records the statements that this process sends from now on, without hints. */
function statements(): { sent: () => string[] } {
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => spy.mockRestore());
  const textOf = ([query]: unknown[]) => (typeof query === 'string' ? query : (query as { text: string }).text);
  return { sent: () => spy.mock.calls.map(textOf).filter((text) => !text.includes('pg_notify')) };
}

/** Whether the stored records match their checksums. */
async function expectIntact(store: Store, taskIds: readonly string[]): Promise<void> {
  for (const taskId of taskIds) {
    const record = await store.kv.get(`${KEY}${taskId}`);
    for (const field of Object.keys(record!.fields)) await store.kv.getField(`${KEY}${taskId}`, field);
  }
  expect((await store.doctor({ deep: true })).findings.filter(({ status }) => status === 'fail')).toEqual([]);
}

describe.skipIf(WITHOUT_POSTGRES)('a worker', () => {
  it('completes a job and claims the next one with one statement', async () => {
    const store = await openStore(await newDatabase());
    const ids = numbers(20).map((at) => `job-${at}`);
    await enqueue(store, ...ids);
    const { sent } = statements();
    const done: string[] = [];
    for (let claim = await claimNext(store); claim; ) {
      done.push(claim.taskId);
      [, claim] = await Promise.all([store.jobs.complete(claim), claimNext(store)]);
    }
    expect(done).toEqual(ids);
    // The first claim, and one statement for each completion with the next claim.
    expect(sent().filter((text) => !text.startsWith('DISCARD'))).toHaveLength(ids.length + 1);
    await expectIntact(store, ids);
    expect((await store.jobs.list('completed')).items).toHaveLength(ids.length);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('moves of held jobs', () => {
  it('store the same records as any other way, each with one statement', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    // Jobs of the same millisecond are claimed in the order of their keys.
    const ids = ['brief', 'completed', 'failed', 'parked', 'renewed'];
    await enqueue(store, ...ids);
    const claims = new Map<string, ClaimedJob>();
    for (const _ of ids) {
      const claim = (await claimNext(store))!;
      claims.set(claim.taskId, claim);
    }
    expect([...claims.keys()], 'in the order of their age').toEqual(ids);
    const { sent } = statements();
    const { jobs } = store;
    await jobs.progress(claims.get('renewed')!, { currentStep: 1, stepCount: 3 });
    await jobs.heartbeat(claims.get('renewed')!, { lease: '2h' });
    await jobs.complete(claims.get('completed')!, { resultRef: 'sent' });
    await jobs.complete(claims.get('brief')!, { ttl: '7d' });
    await jobs.park(claims.get('parked')!, { delay: '1h' });
    expect(sent().map((text) => text.trim().slice(0, 40))).toHaveLength(5);
    await jobs.fail(claims.get('failed')!, { error: 'mailbox full', delay: '10m' });
    // Another process reads everything from the tables.
    const other = await openStore(url);
    const seen = await Promise.all(ids.map((taskId) => other.jobs.get({ taskType: TYPE, taskId })));
    expect(seen).toEqual([
      expect.objectContaining({ taskId: 'brief', state: 'completed' }),
      expect.objectContaining({ taskId: 'completed', state: 'completed', resultRef: 'sent' }),
      expect.objectContaining({ taskId: 'failed', state: 'pending', retryCount: 1, error: 'mailbox full' }),
      expect.objectContaining({ taskId: 'parked', state: 'pending' }),
      expect.objectContaining({ taskId: 'renewed', state: 'running', currentStep: 1, stepCount: 3 }),
    ]);
    const [parked, renewed] = [seen[3], seen[4]];
    expect(renewed!.timeoutAt! - renewed!.updatedAt).toBe(2 * 3_600_000);
    expect(parked!.runAt! - parked!.updatedAt).toBe(3_600_000);
    expect((await other.kv.get(`${KEY}brief`))!.ttl).toBeGreaterThan(6 * 86_400_000);
    for (const [state, taskId] of [
      ['completed', 'completed'],
      ['running', 'renewed'],
    ] as const)
      expect((await other.jobs.list(state)).items.map((job) => job.taskId)).toContain(taskId);
    await expectIntact(other, ids);
  });

  it('notice what other processes have changed', async () => {
    const url = await newDatabase();
    const [store, other] = [await openStore(url), await openStore(url)];
    await enqueue(store, 'touched', 'cancelled', 'taken');
    const [touched, cancelled] = [(await claimNext(store))!, (await claimNext(store))!];
    const taken = (await store.jobs.claim({ taskType: TYPE }, { worker: 'w', lease: 1 }))!;
    await other.kv.setField(`${KEY}touched`, 'note', 'from another process');
    await other.jobs.cancel(cancelled);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const next = (await other.jobs.claim({ taskType: TYPE }, { worker: 'o', takeExpired: true }))!;
    expect(next.taskId).toBe('taken');
    const complete = (claim: ClaimedJob) => store.jobs.complete(claim).catch((error: TidemarkError) => error);
    const outcomes = await Promise.all([touched, cancelled, taken].map(complete));
    expect(outcomes).toMatchObject([{ state: 'completed' }, { code: 'CLAIM_LOST' }, { code: 'CLAIM_LOST' }]);
    expect(Object.keys((await other.kv.get(`${KEY}touched`))!.fields)).toContain('note');
    expect((await other.jobs.complete(next)).state).toBe('completed');
    await expectIntact(other, ['touched', 'cancelled', 'taken']);
  });

  it('fail for a claim that lost its job to another claim of the same process', async () => {
    const store = await openStore(await newDatabase());
    await enqueue(store, 'a');
    const first = (await claimNext(store))!;
    await store.jobs.park(first, { until: 1 });
    const second = (await claimNext(store))!;
    expect(second.taskId).toBe('a');
    await expect(store.jobs.complete(first)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    await expect(store.jobs.heartbeat(first)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    expect((await store.jobs.complete(second)).state).toBe('completed');
    await expectIntact(store, ['a']);
  });

  it('can be repeated', async () => {
    const store = await openStore(await newDatabase());
    await enqueue(store, 'a');
    const claim = (await claimNext(store))!;
    const [first, again] = [await store.jobs.complete(claim), await store.jobs.complete(claim)];
    expect(again).toEqual(first);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('claims', () => {
  it('pass over jobs that another transaction has locked, without waiting', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'locked', 'free');
    const rival = await openClient(url);
    await rival.query(`BEGIN; SELECT FROM tidemark.kv_records WHERE key = '${KEY}locked' FOR UPDATE`);
    expect((await claimNext(store))?.taskId).toBe('free');
    await rival.query('COMMIT');
    expect((await claimNext(store))?.taskId).toBe('locked');
  });

  it('wait for a locked job when there is no other', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'locked');
    const rival = await openClient(url);
    await rival.query(`BEGIN; SELECT FROM tidemark.kv_records WHERE key = '${KEY}locked' FOR UPDATE`);
    const claim = claimNext(store);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await rival.query('COMMIT');
    expect((await claim)?.taskId).toBe('locked');
  });

  it('return a job whose damage they find to the queue, and take the next one', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'damaged', 'healthy');
    const client = await openClient(url);
    const damage = `UPDATE tidemark.kv_fields SET value = 'mil', sum = sum WHERE key = '${KEY}damaged' AND field = 'task_type'`;
    await client.query('ALTER TABLE tidemark.kv_fields DISABLE TRIGGER kv_fields_sum');
    await client.query(damage);
    await client.query('ALTER TABLE tidemark.kv_fields ENABLE TRIGGER kv_fields_sum');
    const claims = [await claimNext(store), await claimNext(store)];
    expect(claims.map((claim) => claim?.taskId)).toEqual(['healthy', undefined]);
    const places = await client.query(`SELECT place FROM tidemark.kv_places WHERE key = '${KEY}damaged' ORDER BY 1`);
    expect(places.rows.map(({ place }) => place.split('/')[0])).toEqual(['pending', 'ready']);
    await expect(store.kv.get(`${KEY}damaged`)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    await expect(store.kv.getField(`${KEY}damaged`, 'task_type')).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  });

  it('take jobs whose remembered requests are damaged or unusual', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'quoted', 'plain');
    const client = await openClient(url);
    await client.query('UPDATE tidemark.kv_records SET requests = $1 WHERE key = $2', ['["a\\"b"]', `${KEY}quoted`]);
    const claims = [await claimNext(store), await claimNext(store)];
    expect(claims.map((claim) => claim?.taskId)).toEqual(['quoted', 'plain']);
    await client.query('UPDATE tidemark.kv_records SET requests = $1 WHERE key = $2', ['["', `${KEY}plain`]);
    await enqueue(store, 'damaged', 'healthy');
    await client.query('UPDATE tidemark.kv_records SET requests = $1 WHERE key = $2', ['["', `${KEY}damaged`]);
    const other = await openStore(url);
    const next = await Promise.all([claimNext(other), other.jobs.complete(claims[0]!)]);
    expect(next).toMatchObject([{ taskId: 'healthy' }, { state: 'completed' }]);
  });

  it('take jobs that an older version has stored, and jobs that expire', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'unsummed', 'expiring', 'ready');
    const client = await openClient(url);
    await client.query(`UPDATE tidemark.kv_records SET sum = NULL WHERE key = '${KEY}unsummed'`);
    await client.query(`UPDATE tidemark.kv_fields SET sum = NULL WHERE key = '${KEY}unsummed'`);
    await store.kv.touch(`${KEY}expiring`, '1h');
    const claims = [await claimNext(store), await claimNext(store), await claimNext(store)];
    expect(claims.map((claim) => claim?.taskId)).toEqual(['unsummed', 'expiring', 'ready']);
    await expectIntact(store, ['unsummed', 'expiring', 'ready']);
  });

  it('remember many requests', async () => {
    const store = await openStore(await newDatabase());
    await enqueue(store, 'a');
    for (const _ of numbers(40)) {
      const claim = (await claimNext(store))!;
      await store.jobs.park(claim, { until: 1 });
    }
    await expectIntact(store, ['a']);
  });

  it('work with a clock for which the server cannot compute checksums', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    const clock = (time: number) =>
      client.query(
        `CREATE OR REPLACE FUNCTION tidemark.tidemark_now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ${time}::bigint'`,
      );
    await clock(5_000);
    await enqueue(store, 'a', 'b');
    const claim = (await claimNext(store))!;
    expect(claim.job).toMatchObject({ taskId: 'a', updatedAt: 5_000 });
    await clock(9_500_000_000_000);
    expect(await store.jobs.complete(claim)).toMatchObject({ state: 'completed', updatedAt: 9_500_000_000_000 });
    await expectIntact(store, ['a', 'b']);
  });

  it('of several types and tenants share a turn', async () => {
    const store = await openStore(await newDatabase());
    const tenants = ['a', 'b'].map((tenant) => store.forTenant(tenant));
    for (const { jobs } of tenants) for (const taskType of ['x', 'y']) await jobs.enqueue({ taskType, taskId: 'one' });
    const claimAll = () =>
      Promise.all(
        tenants.flatMap(({ jobs }) => ['x', 'y'].map((taskType) => jobs.claim({ taskType }, { worker: 'w' }))),
      );
    expect((await claimAll()).map((claim) => claim?.taskType)).toEqual(['x', 'y', 'x', 'y']);
    expect(await claimAll()).toEqual([null, null, null, null]);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a retry of a claim whose reply was lost', () => {
  /** Lets a claim reach the server, and loses its reply. Returns the write to retry. */
  async function loseReply(store: Store): Promise<StoreWrite> {
    const original = pg.Client.prototype.query;
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const sent = Reflect.apply(original, this, args) as Promise<unknown>;
      return sent.then(() => Promise.reject(new Error('Connection terminated unexpectedly')));
    } as never);
    const error = await claimNext(store).catch((it: TidemarkError) => it);
    spy.mockRestore();
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', write: { domain: 'jobs', method: 'claim' } });
    return (error as TidemarkError).write!;
  }

  it('returns the job that was claimed', async () => {
    const store = await openStore(await newDatabase());
    await enqueue(store, 'a', 'b');
    const retry = await loseReply(store);
    expect(await replay(store, retry)).toMatchObject({ taskId: 'a' });
    expect(await replay(store, retry)).toMatchObject({ taskId: 'a' });
    expect((await store.jobs.list('claimed')).items).toHaveLength(1);
  });

  it('waits for the first attempt, and finds its job', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'a', 'b');
    // A first attempt that has looked for closed claims, and takes its time to commit.
    const slow = await openClient(url);
    const claimId = 'first-slow';
    await slow.query(`BEGIN; SELECT tidemark.closed_claims('default', '${TYPE}', ARRAY['claims/${TYPE}/${claimId}'])`);
    let isOver = false;
    const retry = store.jobs.claim({ taskType: TYPE }, { worker: 'w', claimId }).finally(() => {
      isOver = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isOver).toBe(false);
    await slow.query('COMMIT');
    expect((await retry)?.taskId).toBe('a');
  });

  it('does not stop the claims of others while it waits for one that has stalled', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const stalled = await openClient(url);
    const claimId = 'first-stalled';
    await stalled.query(
      `BEGIN; SELECT tidemark.closed_claims('default', '${TYPE}', ARRAY['claims/${TYPE}/${claimId}'])`,
    );
    const retry = store.jobs.claim({ taskType: TYPE }, { worker: 'w', claimId });
    const other = await openStore(url);
    for (const at of numbers(10)) {
      await enqueue(other, `job-${at}`);
      expect((await claimNext(other))?.taskId).toBe(`job-${at}`);
    }
    await stalled.query('COMMIT');
    expect(await retry).toBe(null);
  });

  it('prevents a first attempt that has not begun', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await enqueue(store, 'a', 'b');
    const claimId = 'first-late';
    expect((await store.jobs.claim({ taskType: TYPE }, { worker: 'w', claimId }))?.taskId).toBe('a');
    const late = await openClient(url);
    const unless = `claims/${TYPE}/${claimId}`;
    const { rows } = await late.query(`SELECT tidemark.closed_claims('default', '${TYPE}', ARRAY[$1]) AS closed`, [
      unless,
    ]);
    expect(rows[0].closed).toEqual([unless]);
  });
});
