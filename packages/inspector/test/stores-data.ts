/** Records and jobs for the inspector's tests: some of every kind, some stuck, some hostile. */
import { ATTACKS, type DataClock, type DataStore } from './data.ts';

const MINUTE = 60_000;

export const STUCK_JOB = 'email-send/mail-2';
export const DEAD_JOB = 'email-send/mail-3';

function ago<T>(clock: DataClock, minutes: number, write: () => Promise<T>): Promise<T> {
  return clock.at(Date.now() - minutes * MINUTE, write);
}

/** Writes a job in every state. The second is held by an unresponsive worker, the third has failed permanently. */
export async function writeJobs({ store: { jobs }, clock }: DataStore): Promise<void> {
  const taskType = 'email-send';
  const claimOf = (number: number) => ({ taskType, taskId: `mail-${number}`, claimId: `claim-${number}` });
  for (let number = 1; number <= 7; number++)
    await ago(clock, 70, () =>
      jobs.enqueue({ taskType, taskId: `mail-${number}`, paramsRef: `params/${number}`, priority: number }),
    );
  for (const number of [2, 3, 4, 5])
    await ago(clock, 45, () =>
      jobs.claim({ taskType, taskId: `mail-${number}` }, { worker: `w${number}`, claimId: claimOf(number).claimId }),
    );
  await ago(clock, 45, () => jobs.progress(claimOf(2), { currentStep: 2, stepCount: 5 }));
  await ago(clock, 45, () => jobs.fail(claimOf(3), { error: 'the mailbox does not exist', retry: false }));
  await ago(clock, 45, () => jobs.complete(claimOf(4), { resultRef: 'results/4' }));
  await jobs.fail(claimOf(5), { error: 'rate limited', delay: '2h' });
  await jobs.cancel({ taskType, taskId: 'mail-6' });
  await jobs.enqueue({ taskType: 'video-encode', taskId: 'clip-1' });
  await jobs.claim({ taskType: 'video-encode', taskId: 'clip-1' }, { worker: 'w9', claimId: 'c', lease: '1h' });
}

export async function writeRecords({ store: { kv } }: DataStore): Promise<void> {
  await kv.put('config.limits', {
    max: 500,
    window: '1m',
    changed: Date.UTC(2026, 1, 3, 4, 5, 6),
    rules: JSON.stringify({ burst: [5, 50], by: { user: true } }),
  });
  await kv.put('config.features', { dark_mode: 'on', voice: 'off' });
  for (const region of ['asia', 'eu', 'us']) await kv.put(`config.regions.${region}`, { host: `${region}.example` });
  await kv.put('locks.reindex', { owner: 'w3' }, { ttl: '15m' });
  await kv.put('cache.logo', { bytes: Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff]) });
}

/** Writes more records than the tree reads at once. */
export async function writeManyRecords({ store: { kv } }: DataStore, prefix: string, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, at) => String(at).padStart(6, '0'));
  for (let start = 0; start < count; start += 500)
    await Promise.all(numbers.slice(start, start + 500).map((it) => kv.put(`${prefix}${it}`, { n: it })));
}

export const HOSTILE_KEY = `x.${ATTACKS[0]}`;

/** Writes records and jobs with attacks in keys, names, values and errors. */
export async function writeHostileRecords({ store: { kv, jobs } }: DataStore): Promise<void> {
  await kv.put(HOSTILE_KEY, {
    ...Object.fromEntries(ATTACKS.map((text) => [text, text])),
    json: JSON.stringify(Object.fromEntries(ATTACKS.map((text) => [text, [text]]))),
    ['__proto__']: ATTACKS[1]!,
  });
  const job = { taskType: 'attack', taskId: `/..?#${ATTACKS[1]}` };
  await jobs.enqueue({ ...job, paramsRef: ATTACKS[2]! });
  await jobs.claim(job, { worker: ATTACKS[0]!, claimId: 'attack' });
  await jobs.fail({ ...job, claimId: 'attack' }, { error: ATTACKS.join(' '), retry: false });
}
