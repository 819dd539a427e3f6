/** Claim behaviour that the kit cannot test: lost replies, and coordination of claimers in one process. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import type { WriteOf } from '../contracts/writes.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordOutcome, Records, RecordWrite } from '../engine/records.ts';
import { memoryRecords } from '../memory/records.ts';
import { assembleStore } from '../store.ts';
import { StoreContext } from '../tools/context.ts';
import { replay } from '../wrappers/replay.ts';

const TYPE = 'email-send';

let records: Records;
let store: Store;
/** Intercepts the store's writes to its records. */
let write: (write: RecordWrite, call: EngineCall) => Promise<RecordOutcome>;
let batch: Records['batch'];

beforeEach(() => {
  const context = new StoreContext();
  records = memoryRecords(context);
  write = (it, call) => records.write(it, call);
  batch = (writes, call) => records.batch(writes, call);
  const between = new Proxy(records, {
    get: (target, name) => {
      if (name === 'write') return (it: RecordWrite, call: EngineCall) => write(it, call);
      if (name === 'batch') return (writes: RecordWrite[], call: EngineCall) => batch(writes, call);
      if (name === 'claimFirst') return undefined;
      return (Reflect.get(target, name) as () => unknown).bind(target);
    },
  });
  store = assembleStore(context, {
    backend: 'test',
    version: '0',
    can: {},
    durability: () => 'none',
    kv: between,
    ping: async () => {},
    doctor: async () => ({ durability: 'none', findings: [] }),
    close: async () => {},
  });
});

afterEach(async () => {
  await store.close();
});

async function enqueue(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.jobs.enqueue({ taskType: TYPE, taskId: `job-${n}` });
}

describe('a claim whose reply is lost (GEN-8)', () => {
  it('carries the claim of the job it tried, and a replay settles it', async () => {
    await enqueue(3);
    write = async (it, call) => {
      await records.write(it, call);
      return new Promise(() => {});
    };
    const lost = store.jobs.claim({ taskType: TYPE }, { worker: 'ada', timeoutMs: 30 });
    const error = await lost.catch((it: TidemarkError) => it);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', write: { domain: 'jobs', method: 'claim' } });
    write = (it, call) => records.write(it, call);
    const retry = (error as TidemarkError).write as WriteOf<'jobs', 'claim'>;
    expect(retry.args[0]).toEqual({ taskType: TYPE, taskId: 'job-0' });
    const claim = await replay(store, retry);
    expect(claim).toMatchObject({ taskId: 'job-0', claimId: retry.args[1].claimId, job: { state: 'claimed' } });
    expect((await store.jobs.list('claimed')).items, 'only one job was claimed').toHaveLength(1);
  });

  it('takes over the expired job it tried only once, even when replayed', async () => {
    await enqueue(2);
    for (const taskId of ['job-0', 'job-1'])
      await store.jobs.claim({ taskType: TYPE, taskId }, { worker: 'w', lease: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    write = async (it, call) => {
      await records.write(it, call);
      return new Promise(() => {});
    };
    const options = { worker: 'ada', timeoutMs: 100, takeExpired: true };
    const error = await store.jobs.claim({ taskType: TYPE }, options).catch((it: TidemarkError) => it);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', write: { domain: 'jobs', method: 'claim' } });
    write = (it, call) => records.write(it, call);
    const retry = (error as TidemarkError).write as WriteOf<'jobs', 'claim'>;
    for (const _ of [1, 2]) {
      const claim = await replay(store, retry);
      expect(claim).toMatchObject({ taskId: 'job-0', job: { worker: 'ada', retryCount: 1 } });
    }
    expect((await store.jobs.get({ taskType: TYPE, taskId: 'job-1' }))?.retryCount, 'the other is untouched').toBe(0);
  });

  it('takes over an intended job on retry, even if the retry no longer takes expired jobs', async () => {
    await enqueue(1);
    await store.jobs.claim({ taskType: TYPE }, { worker: 'w', lease: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    batch = async ([intent], call) => {
      await records.batch([intent!], call);
      throw new TidemarkError('OUTCOME_UNKNOWN', 'The process died between both writes');
    };
    const options = { worker: 'ada', claimId: 'claim-1' };
    const lost = store.jobs.claim({ taskType: TYPE }, { ...options, takeExpired: true });
    await expect(lost).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const claim = await store.jobs.claim({ taskType: TYPE }, options);
    expect(claim).toMatchObject({ taskId: 'job-0', claimId: 'claim-1', job: { worker: 'ada', retryCount: 1 } });
  });

  it('stops claiming when the caller has given up', async () => {
    await enqueue(2);
    let claims = 0;
    write = async (it, call) => {
      claims++;
      await new Promise((resolve) => setTimeout(resolve, 700));
      // Simulates a faster claimer, after which this one would try the next job.
      return { ...(await records.write({ ...it, expect: { revision: 0 } }, call)) };
    };
    await expect(store.jobs.claim({ taskType: TYPE }, { worker: 'ada', timeoutMs: 500 })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
    });
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(claims).toBe(1);
  });
});

describe('claimers of one process', () => {
  it('do not try the same job, even through different views', async () => {
    await enqueue(50);
    const tries: string[] = [];
    write = async (it, call) => {
      tries.push(it.name.key);
      await new Promise(setImmediate);
      return records.write(it, call);
    };
    const views = [store, store.forTenant('default')];
    const claims = await Promise.all(
      Array.from({ length: 50 }, (_, n) => views[n % 2]!.jobs.claim({ taskType: TYPE }, { worker: `w${n}` })),
    );
    expect(new Set(claims.map((it) => it?.taskId)).size).toBe(50);
    expect(tries, 'every try succeeded').toHaveLength(50);
  });

  it('claim jobs in order if they claim one after another', async () => {
    await enqueue(20);
    const order: string[] = [];
    for (let n = 0; n < 20; n++) order.push((await store.jobs.claim({ taskType: TYPE }, { worker: 'w' }))!.job.key);
    const created = await Promise.all(order.map((key) => store.kv.getField(key, 'created_at')));
    expect(created.map(String)).toEqual(created.map(String).toSorted());
  });
});

describe('a store without kv', () => {
  it('fails job calls with UNSUPPORTED (GEN-7)', async () => {
    const bare = assembleStore(new StoreContext(), {
      backend: 'bare',
      version: '0',
      can: {},
      durability: () => 'none',
      ping: async () => {},
      doctor: async () => ({ durability: 'none', findings: [] }),
      close: async () => {},
    });
    expect(bare.info.capabilities.jobs).toBe(false);
    const refused = { code: 'UNSUPPORTED', field: 'jobs' };
    await expect(bare.jobs.enqueue({ taskType: TYPE, taskId: 'a' })).rejects.toMatchObject(refused);
    await expect(bare.jobs.claim({ taskType: TYPE }, { worker: 'w' })).rejects.toMatchObject(refused);
    await expect(bare.jobs.types('pending')).rejects.toMatchObject(refused);
  });
});

describe('claimers that have lost several races', () => {
  it('choose among jobs of the same priority, and never claim a lower priority first', async () => {
    for (let n = 0; n < 12; n++) {
      await store.jobs.enqueue({ taskType: TYPE, taskId: `low-${n}`, priority: 1 });
      await store.jobs.enqueue({ taskType: TYPE, taskId: `high-${n}`, priority: 2 });
    }
    let late = 5;
    write = (it, call) => records.write(late-- > 0 ? { ...it, expect: { revision: 0 } } : it, call);
    const taken: string[] = [];
    for (let n = 0; n < 12; n++) taken.push((await store.jobs.claim({ taskType: TYPE }, { worker: 'ada' }))!.taskId);
    expect(taken.filter((taskId) => taskId.startsWith('low-'))).toEqual([]);
    expect(taken, 'claimers spread out').not.toEqual(Array.from({ length: 12 }, (_, n) => `high-${n}`));
  });
});

describe('a claimer that loses every race', () => {
  /** One more than the widest spread with its spare jobs, so that every scan is full. */
  const MANY = 40;
  const ROUNDS = 100;
  const lose = () => {
    write = (it, call) => records.write({ ...it, expect: { revision: 0 } }, call);
  };
  const scansOf = async (index: string, claim: Promise<unknown>) => {
    const scans = vi.spyOn(records, 'scanIndex');
    await expect(claim).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true, outcome: 'rejected' });
    return scans.mock.calls.filter(([, { from }]) => from.startsWith(index)).length;
  };

  it('gives up on ready jobs after 100 rounds', async () => {
    await enqueue(MANY);
    lose();
    const claim = store.jobs.claim({ taskType: TYPE }, { worker: 'ada', timeoutMs: 60_000 });
    expect(await scansOf('ready', claim)).toBe(ROUNDS);
  });

  it('gives up on jobs with an expired lease after 100 rounds', async () => {
    await enqueue(MANY);
    for (let n = 0; n < MANY; n++) await store.jobs.claim({ taskType: TYPE }, { worker: 'w', lease: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    lose();
    const claim = store.jobs.claim({ taskType: TYPE }, { worker: 'ada', takeExpired: true, timeoutMs: 60_000 });
    expect(await scansOf('lease', claim)).toBe(ROUNDS);
  });

  it('gives up on one job after 100 tries', async () => {
    await enqueue(1);
    let tries = 0;
    write = (it, call) => {
      tries++;
      return records.write({ ...it, expect: { revision: 0 } }, call);
    };
    const claim = store.jobs.claim({ taskType: TYPE, taskId: 'job-0' }, { worker: 'ada', timeoutMs: 60_000 });
    await expect(claim).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true });
    expect(tries).toBe(ROUNDS);
  });
});

describe('messages about jobs', () => {
  it('say why a job cannot be requeued', async () => {
    const job = { taskType: TYPE, taskId: 'job-0' };
    const message = (seen: string) => `Only a failed or cancelled job can be requeued; this one ${seen}`;
    await expect(store.jobs.requeue(job)).rejects.toThrow(message('does not exist'));
    await enqueue(1);
    await expect(store.jobs.requeue(job)).rejects.toThrow(message('is pending'));
  });
});
