/** Jobs: one worker dies while it holds a job, and the sweeper returns the job to another worker. */
import { createSweeper, createWorker, inProcessPublisher, subjectOf } from '@tidemark/runtime';
import { open } from 'tidemark';

const store = await open(process.argv[2] ?? 'memory:');
const taskType = 'email-send';
const signals = inProcessPublisher();

await store.jobs.enqueue({ taskType, taskId: 'welcome-ada', paramsRef: 's3://mails/ada' });
await store.jobs.enqueue({ taskType, taskId: 'welcome-bob', priority: 10 });
await store.jobs.enqueue({ taskType, taskId: 'welcome-bob', priority: 99 }); // the same job; enqueued once

// A worker claims a job and dies.
const claim = await store.jobs.claim({ taskType }, { worker: 'unlucky', lease: 100 });
console.log(`${claim?.job.worker} holds ${claim?.taskId}`);

const sweeper = createSweeper({ store, publish: signals.publish, interval: 50, threshold: '5m' });
const worker = createWorker({
  store,
  taskType,
  worker: 'reliable',
  publish: signals.publish,
  wake: (notify) => signals.subscribe(subjectOf(taskType, 'queue'), notify),
  handler: async ({ job, progress }) => {
    await progress(1, 1);
    return { resultRef: `sent:${job.taskId}`, ttl: '7d' };
  },
});

const bothEnded = new Promise<void>((resolve) => {
  let ended = 0;
  signals.subscribe(subjectOf(taskType, 'terminal'), ({ taskId, state, retryCount, resultRef }) => {
    console.log(`${taskId} ${state}, ${resultRef}, sent back ${retryCount === 1 ? 'once' : 'never'}`);
    if (++ended === 2) resolve();
  });
});
worker.start();
sweeper.start();
await bothEnded;

// The lost claim is no longer valid.
const late = await store.jobs.complete(claim!, { resultRef: 'too late' }).catch((error) => error.code);
console.log(`the first holder comes back: ${late}`);

await worker.stop();
await sweeper.stop();
await store.close();
