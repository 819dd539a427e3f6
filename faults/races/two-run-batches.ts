/**
 * One actor sends batches over two runs with tight time limits, while the other keeps both runs busy. An append that fails
 * and says that nothing was written has written nothing; one that is not sure says so and carries the write.
 */
import { isTidemarkError, type RunEventInput, type Store } from '@tidemark/core';
import { runEvent } from '../run-event.ts';
import { ignoring, until } from './actors.ts';
import type { Race } from './race.ts';

const BATCHES = 12;

export const TWO_RUN_BATCHES: Race = {
  summary: 'batches over two runs beside tight time limits',
  rounds: { short: 5, long: 60 },
  async round({ a, b, id, random }) {
    const [one, two] = [`${id}-one`, `${id}-two`];
    const done = new AbortController();
    const late = ignoring('TIMEOUT', 'OUTCOME_UNKNOWN', 'OVERLOADED');
    const filler = 'x'.repeat(20_000);
    const load = (store: Store) =>
      until(done.signal, () => store.runs.appendEvent(runEvent(two, undefined, { filler })).catch(late));
    const loads = [load(a), load(a), load(a), load(b), load(b)];
    const problems: string[] = [];
    let failed = 0;
    for (let batch = 0; batch < BATCHES; batch++) {
      const events = [runEvent(one, `${batch}`), runEvent(two, `${batch}`)];
      const error = await a.runs.appendEvents(events, { timeoutMs: random.between(1, 12) }).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) continue;
      failed++;
      const stored = await storedOf(a, events);
      if (!isTidemarkError(error)) problems.push(`an append failed with ${error}`);
      else if (error.outcome === 'rejected' && stored > 0)
        problems.push(`${error.code} says that nothing was written, and ${stored} of 2 runs have their event`);
      else if (error.outcome === 'unknown' && error.write === undefined)
        problems.push('an unknown outcome has no write');
    }
    done.abort();
    await Promise.all(loads);
    return { checks: failed, problems };
  },
};

/** How many of the events are stored, some time after their append failed. */
async function storedOf(store: Store, events: readonly RunEventInput[]): Promise<number> {
  let stored = 0;
  for (const { runId, idempotencyKey } of events) {
    for await (const event of store.runs.readEvents(runId, { tenantId: 'default' }))
      if (event.idempotencyKey === idempotencyKey) stored++;
  }
  return stored;
}
