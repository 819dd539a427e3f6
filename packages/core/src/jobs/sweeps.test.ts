/** Jobs that their worker lost: the error they fail with, and sweeps while another actor changes the job. */
import { expect, it } from 'vitest';
import type { Job } from '../contracts/jobs.ts';
import { memoryStore } from '../memory/store.ts';

const REF = { taskType: 'mail', taskId: 'one' };

async function overdueStore(maxRetries: number, worker: string) {
  let now = 0;
  const store = memoryStore({ clock: () => now, monotonic: () => now });
  await store.jobs.enqueue({ ...REF, maxRetries });
  const pass = async () => {
    await store.jobs.claim(REF, { lease: 1_000, worker });
    now += 1_001;
    return (await store.jobs.overdue(REF.taskType, { threshold: '1h' }))[0]!;
  };
  return { store, pass };
}

it.each([
  [0, 'w', /^No sign of life from worker w, and the job was sent back 0 times already$/],
  [1, 'w', /^No sign of life from worker w, and the job was sent back once already$/],
  [2, 'w', /^No sign of life from worker w, and the job was sent back 2 times already$/],
])('a job with %i retries fails after them with the name of its worker', async (maxRetries, worker, message) => {
  const { store, pass } = await overdueStore(maxRetries, worker);
  let last: Job | undefined;
  for (let retry = 0; retry <= maxRetries; retry++) {
    const { outcome, job } = await store.jobs.recover(await pass());
    expect(outcome).toBe(retry < maxRetries ? 'requeued' : 'failed');
    last = job;
  }
  expect(last).toMatchObject({ state: 'failed', retryCount: maxRetries, error: expect.stringMatching(message) });
});

it('a job that another sweep has recovered is missed, and returned as it is now', async () => {
  const { store, pass } = await overdueStore(3, 'w');
  const seen = await pass();
  expect(await store.jobs.recover(seen)).toMatchObject({ outcome: 'requeued', job: { retryCount: 1 } });
  expect(await store.jobs.recover(seen)).toMatchObject({ outcome: 'missed', job: { state: 'pending', retryCount: 1 } });
  await store.jobs.claim(REF, { worker: 'next' });
  expect(await store.jobs.recover(seen)).toMatchObject({
    outcome: 'missed',
    job: { state: 'claimed', worker: 'next' },
  });
  expect(await store.jobs.get(REF)).toMatchObject({ state: 'claimed', worker: 'next', retryCount: 1 });
});
