/** Demo jobs in every state, and some records. */
import type { Store } from '@tidemark/core';
import type { DemoClock } from './clock.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const TYPES = ['email-send', 'invoice-pdf', 'video-encode', 'embed-documents'];

interface Plan {
  count: number;
  /** The range of ages of these jobs. */
  ageMinutes: [number, number];
  act: (work: {
    jobs: Store['jobs'];
    claim: { taskType: string; taskId: string; claimId: string };
  }) => Promise<unknown>;
}

const PLANS: Record<string, Plan> = {
  waiting: { count: 14, ageMinutes: [0, 30], act: async () => {} },
  done: {
    count: 22,
    ageMinutes: [10, 2_000],
    act: ({ jobs, claim }) => jobs.complete(claim, { resultRef: `results/${claim.taskId}`, ttl: '7d' }),
  },
  failed: {
    count: 6,
    ageMinutes: [60, 3_000],
    act: ({ jobs, claim }) => jobs.fail(claim, { error: 'the mailbox does not exist', retry: false }),
  },
  retried: {
    count: 3,
    ageMinutes: [2, 20],
    act: ({ jobs, claim }) => jobs.fail(claim, { error: 'rate limited', delay: '2h' }),
  },
  running: {
    count: 4,
    ageMinutes: [0, 0],
    act: ({ jobs, claim }) => jobs.progress(claim, { currentStep: 3, stepCount: 8 }, { lease: '1h' }),
  },
  claimed: { count: 3, ageMinutes: [0, 0], act: async () => {} },
  stuck: {
    count: 3,
    ageMinutes: [40, 400],
    act: ({ jobs, claim }) => jobs.progress(claim, { currentStep: 2, stepCount: 5 }),
  },
};

export async function fillJobs({ jobs, kv }: Store, random: Random, clock: DemoClock): Promise<number> {
  let count = 0;
  for (const [name, plan] of Object.entries(PLANS)) {
    for (let number = 1; number <= plan.count; number++, count++) {
      const claim = { taskType: random.pick(TYPES), taskId: `${name}-${number}`, claimId: `claim-${name}-${number}` };
      const { taskType, taskId, claimId } = claim;
      await clock.at(clock.now - random.between(...plan.ageMinutes) * MINUTE, async () => {
        await jobs.enqueue({
          taskType,
          taskId,
          priority: random.between(0, 3) * 10,
          paramsRef: `params/${taskId}`,
          fields: { customer: random.pick(['acme', 'globex']) },
        });
        if (name === 'waiting') return;
        await jobs.claim({ taskType, taskId }, { worker: `w${random.between(1, 6)}`, claimId });
        await plan.act({ jobs, claim });
      });
    }
  }
  for (let number = 1; number <= 5; number++, count++)
    await jobs.enqueue({ taskType: 'report-weekly', taskId: `week-${number}`, delay: `${number * 6}h` });
  await fillRecords(kv, random);
  return count;
}

async function fillRecords(kv: Store['kv'], random: Random): Promise<void> {
  await kv.put('config.features', { dark_mode: 'on', new_checkout: '25%', voice: 'off' });
  for (const region of ['eu', 'us', 'asia'])
    await kv.put(`config.regions.${region}`, { weight: random.between(1, 9), host: `${region}.example` });
  for (const user of ['ada', 'grace', 'linus'])
    await kv.put(`ratelimit.${user}`, { used: random.between(1, 90) }, { ttl: '1h' });
  await kv.put('locks.reindex', { owner: 'w3', since: '12:04' }, { ttl: '15m' });
  await kv.put('cache.logo', {
    type: 'image/png',
    bytes: Uint8Array.from({ length: 64 }, () => random.between(0, 255)),
  });
}
