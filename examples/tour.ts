/** A tour of the embedded store: a run, its state at any point, a job, a pause, the doctor. */
import { open, textOf } from 'tidemark';

const path = process.argv[2] ?? '.tidemark/state.db';
const store = await open(`sqlite:${encodeURI(path)}`);
const { backend, version, durability } = store.info;
console.log(`A store on ${backend} ${version} in ${path}; an acknowledged write survives: ${durability}.\n`);

const orderId = `order-${Date.now()}`;
const run = store.runs.handle(orderId, { planId: 'checkout', labels: { shop: 'berlin' } });
console.log(`1. A run, ${orderId}: events are appended, each once.`);
await run.append('RunStarted', { by: 'ada' });
await run.append('StepStarted', {}, { stepId: 'charge' });
await run.append('StepFailed', { errorCode: 'CARD_DECLINED', retryable: true }, { stepId: 'charge' });
await run.append('StepStarted', {}, { stepId: 'charge', logicalAttemptId: 2 });
const first = await run.append('StepCompleted', { cents: 1299 }, { stepId: 'charge', logicalAttemptId: 2 });
const again = await run.append('StepCompleted', { cents: 1299 }, { stepId: 'charge', logicalAttemptId: 2 });
console.log(
  `   sent twice, stored once: sequence ${first.runSeq} and ${again.runSeq}, idempotent: ${again.idempotent}`,
);
await run.append('RunCompleted');
for await (const event of run.events()) {
  console.log(
    `   ${event.runSeq} ${event.eventType.padEnd(13)} ${event.stepId ?? ''} ${JSON.stringify(event.payload ?? {})}`,
  );
}

const before = await run.snapshot({ atSeq: 3 });
const now = await run.snapshot();
console.log(
  `\n2. Its state at any point: after event 3 charge was ${before.steps[0]?.status}, now it is ${now.steps[0]?.status}.`,
);
const proof = await store.runs.verify(orderId);
console.log(
  `   The hash chain over its ${proof.events} events ${proof.ok ? 'verifies' : 'is broken'}: ${proof.head.slice(0, 16)}…`,
);

const job = `gbe.state.tasks.email-send.${orderId}`;
await store.kv.put(job, { state: 'pending', task_type: 'email-send' }, { ttl: '1h' });
const claims = await Promise.all(
  ['w1', 'w2', 'w3'].map((worker) =>
    store.kv.swap(job, { expected: { state: 'pending' }, set: { state: 'claimed', worker } }),
  ),
);
const record = await store.kv.get(job);
console.log(
  `\n3. A job: three workers try to claim it, ${claims.filter((claim) => claim.swapped).length} wins: ${textOf(record?.fields.worker)}.`,
);

await store.agents.savePlannerState(`token-of-${orderId}`, { reason: 'approve the refund' });
const loads = await Promise.all([1, 2, 3].map(() => store.agents.loadPlannerState(`token-of-${orderId}`)));
console.log(
  `\n4. A pause token: three resume at once, ${loads.filter((load) => 'reason' in load).length} gets the state.`,
);

const doctor = await store.doctor();
console.log(`\n5. The doctor: ${doctor.findings.map(({ check, status }) => `${check} ${status}`).join(', ')}.`);

const runs = await store.runs.listRuns({ labels: { shop: 'berlin' } });
console.log(
  `\nThe file keeps all of it: ${runs.items.length} run${runs.items.length === 1 ? '' : 's'} so far. Start it again and there is one more.`,
);
await store.close();
