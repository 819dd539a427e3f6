/** Random histories of runs: valid and invalid transitions, steps, redactions, deletions, restores and new lives. */
import type { Store } from '@tidemark/core';
import { Random } from '../../../faults/random.ts';

const RUN_TYPES = ['RunQueued', 'RunStarted', 'RunPaused', 'RunResumed', 'RunCompleted', 'RunFailed', 'RunCancelled'];
const STEP_TYPES = ['StepStarted', 'StepStarted', 'StepCompleted', 'StepFailed', 'StepSkipped'];
const STEPS = ['a', 'b'];

/** Appends events to runs, and changes runs in between. The same seed makes the same history. */
export async function makeHistory(store: Store, seed: number, changes: number): Promise<void> {
  const random = new Random(seed);
  for (let n = 0; n < changes; n++) {
    const runId = `run-${random.between(0, 12)}`;
    const roll = random.next();
    if (roll < 0.02) await remove(store, runId, random);
    else if (roll < 0.05) await redactOne(store, runId, random);
    else await appendOne(store, runId, random, `${seed}-${n}`);
  }
}

async function appendOne(store: Store, runId: string, random: Random, name: string): Promise<void> {
  const life = (await store.runs.position(runId))?.life;
  const isStep = random.next() < 0.6;
  const eventType = random.next() < 0.1 ? 'Note' : random.pick(isStep ? STEP_TYPES : weighted(random));
  const payload = {
    name,
    text: random.pick(['plain', '"\\', 'ü☂', 'a\0b', '\ud800']),
    ...(eventType.endsWith('Failed')
      ? { errorCode: `E${name}`, errorMessage: 'it failed', retryable: random.next() < 0.5 }
      : {}),
  };
  await store.runs.appendEvent(
    {
      ...{ runId, eventType, payload, idempotencyKey: name },
      ...{ logicalAttemptId: random.between(1, 5), engineAttemptId: random.between(1, 3) },
      emittedAt: new Date(Date.UTC(2026, 0, 1) + random.between(0, 1_000_000)).toISOString(),
      ...(eventType.startsWith('Step') ? { stepId: random.pick(STEPS) } : {}),
    },
    life === undefined ? {} : { life },
  );
}

/** Runs mostly start before they do anything else. */
function weighted(random: Random): readonly string[] {
  return random.next() < 0.4 ? ['RunStarted'] : RUN_TYPES;
}

async function redactOne(store: Store, runId: string, random: Random): Promise<void> {
  const head = await store.runs.headSeq(runId);
  if (head > 0) await store.runs.redactEvent(runId, random.between(1, head + 1), { by: 'ada', reason: 'asked' });
}

/** Deletes a run, and then restores it or begins its next life. */
async function remove(store: Store, runId: string, random: Random): Promise<void> {
  if ((await store.runs.headSeq(runId)) === 0) return;
  const parts = await Array.fromAsync(store.runs.exportRun(runId));
  await store.runs.deleteRun(runId);
  if (random.next() < 0.5) {
    await store.runs.restoreRun(parts, { overDeleted: true });
    return;
  }
  await store.runs.appendEvent({ runId, eventType: 'RunStarted' }, { life: 'new' });
}
