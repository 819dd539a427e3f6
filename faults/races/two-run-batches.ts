/**
 * One actor sends batches over two runs with short timeouts, while the other keeps both runs busy. A batch that
 * succeeds must have stored both events, a rejected batch none, and the error of an unknown outcome must carry the
 * write.
 */
import { isTidemarkError, type Store } from '@tidemark/core';
import { runEvent } from '../run-event.ts';
import { ignoring, until } from './actors.ts';
import type { Race } from './race.ts';

const BATCHES = 12;

export const TWO_RUN_BATCHES: Race = {
  summary: "' batches over two runs with tight time limits",
  rounds: { short: 3, long: 60 },
  async round({ a, b, id, random }) {
    const [one, two] = [`${id}-one`, `${id}-two`];
    const done = new AbortController();
    const late = ignoring('TIMEOUT', 'OUTCOME_UNKNOWN', 'OVERLOADED');
    const filler = 'x'.repeat(20_000);
    const load = (store: Store) =>
      until(done.signal, () => store.runs.appendEvent(runEvent(two, undefined, { filler })).catch(late));
    const loads = [load(a), load(a), load(a), load(b), load(b)];
    const settled: { key: string; error: unknown }[] = [];
    for (let batch = 0; batch < BATCHES; batch++) {
      const events = [runEvent(one, `${batch}`), runEvent(two, `${batch}`)];
      const error = await a.runs.appendEvents(events, { timeoutMs: random.between(1, 12) }).then(
        () => null,
        (reason: unknown) => reason,
      );
      settled.push({ key: `${batch}`, error });
    }
    done.abort();
    await Promise.all(loads);
    const stored = [await keysOf(a, one), await keysOf(a, two)];
    const problems = settled.flatMap(({ key, error }) => {
      const count = stored.filter((keys) => keys.has(key)).length;
      return problemOf(error, count) ?? [];
    });
    return { checks: settled.length, problems };
  },
};

/** Returns the problem with the outcome of a batch of which `stored` events are stored, or `null`. */
function problemOf(error: unknown, stored: number): string | null {
  if (error === null) return stored === 2 ? null : `an append succeeded, and ${stored} of 2 runs have their event`;
  if (!isTidemarkError(error)) return `an append failed with ${error}`;
  if (error.outcome === 'rejected' && stored > 0)
    return `${error.code} says that nothing was written, and ${stored} of 2 runs have their event`;
  if (error.outcome === 'unknown' && error.write === undefined) return 'an unknown outcome has no write';
  return null;
}

async function keysOf(store: Store, runId: string): Promise<Set<string>> {
  const keys = new Set<string>();
  for await (const { idempotencyKey } of store.runs.readEvents(runId, { tenantId: 'default' }))
    keys.add(idempotencyKey);
  return keys;
}
