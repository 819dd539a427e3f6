/** Broken append authorities: sequences, duplicates, keys, fences, batches and tenants. */
import { randomUUID } from 'node:crypto';
import {
  type AppendResult,
  deriveIdempotencyKey,
  isTidemarkError,
  type RunEventInput,
  type RunEventWrite,
  type RunStore,
} from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_APPENDS: readonly BrokenStore[] = [
  broken(
    'duplicate-stored-again',
    'stores a duplicate as a new event',
    'runs/duplicate-returns-stored-metadata',
    () => ({
      runs: (runs) => ({
        async appendEvent(event, options) {
          const result = await runs.appendEvent(event, options);
          return result.idempotent
            ? runs.appendEvent({ ...event, eventId: randomUUID(), idempotencyKey: randomUUID() })
            : result;
        },
      }),
    }),
  ),
  broken(
    'duplicate-burns-sequence',
    'uses a sequence number for a duplicate',
    'runs/duplicate-uses-no-sequence',
    () => ({
      runs: (runs) => ({
        async appendEvent(event, options) {
          const result = await runs.appendEvent(event, options);
          if (result.idempotent)
            await runs.appendEvent({
              ...event,
              eventType: 'Burnt',
              eventId: randomUUID(),
              idempotencyKey: randomUUID(),
            });
          return result;
        },
      }),
    }),
  ),
  broken(
    'duplicate-by-age',
    'reports a duplicate only when the stored event is older than a second',
    'runs/duplicate-returns-stored-metadata',
    () => ({
      runs: (runs, _, now) => ({
        async appendEvent(event, options) {
          const result = await runs.appendEvent(event, options);
          const old = now() - Date.parse(result.persistedAt) > 1_000;
          return { ...result, idempotent: old, persisted: !old };
        },
      }),
    }),
  ),
  broken(
    'duplicate-hides-mismatch',
    'never reports that a duplicate differs from the stored event',
    'runs/duplicate-says-whether-it-matches',
    () => ({
      runs: (runs) => ({
        async appendEvent(event, options) {
          const { payloadMatches: _, ...result } = await runs.appendEvent(event, options);
          return result;
        },
      }),
    }),
  ),
  broken(
    'keys-per-store',
    'keeps idempotency keys per store instead of per run',
    'runs/keys-belong-to-their-run',
    keysPerStore,
  ),
  broken('keys-per-store-by-model', 'keeps idempotency keys per store instead of per run', 'model/runs', keysPerStore),
  broken(
    'derives-all-keys',
    'derives a key for types that occur more than once',
    'runs/repeatable-types-are-no-duplicates',
    () => ({
      runs: (runs) => ({
        appendEvent(event, options) {
          const { runId, stepId, logicalAttemptId, eventType, planId, planVersion } = event as RunEventWrite;
          const parts = { runId, stepId: stepId ?? null, logicalAttemptId, eventType, planId, planVersion };
          return runs.appendEvent(
            { ...event, idempotencyKey: event.idempotencyKey ?? deriveIdempotencyKey(parts) },
            options,
          );
        },
      }),
    }),
  ),
  broken('sequence-as-text', 'returns runSeq as text, as a driver may', 'runs/append-returns-assignment', () => ({
    runs: (runs) => ({
      async appendEvent(event, options) {
        const result = await runs.appendEvent(event, options);
        return { ...result, runSeq: String(result.runSeq) as never };
      },
    }),
  })),
  broken('ignores-fence', 'ignores expectedSeq', 'runs/fence-refuses-a-moved-head', () => ({
    runs: (runs) => ({
      appendEvent: (event, { expectedSeq: _, ...options } = {}) => runs.appendEvent(event, options),
      appendEvents: (events, { expectedSeq: _, ...options } = {}) => runs.appendEvents(events, options),
    }),
  })),
  broken('racy-fence', 'reads the head first and writes later', 'runs/fence-race-has-one-winner', () => ({
    runs: (runs) => ({
      async appendEvent(event, { expectedSeq, ...options } = {}) {
        const head = await runs.headSeq(event.runId);
        if (expectedSeq !== undefined && expectedSeq !== head)
          return runs.appendEvent(event, { ...options, expectedSeq });
        return runs.appendEvent(event, options);
      },
    }),
  })),
  broken(
    'fence-counts-duplicates',
    'applies the fence to a batch of duplicates',
    'runs/fence-ignores-duplicates',
    () => ({
      runs: (runs) => ({
        async appendEvents(events, options) {
          const head = await runs.headSeq(events[0]!.runId);
          if (options?.expectedSeq === undefined || options.expectedSeq === head)
            return runs.appendEvents(events, options);
          return runs.appendEvents([{ ...events[0]!, eventId: randomUUID(), idempotencyKey: randomUUID() }], options);
        },
      }),
    }),
  ),
  broken('batch-one-by-one', 'writes a batch event by event', 'runs/batches-are-seen-whole', oneByOne),
  broken(
    'batch-half-written',
    'keeps the first events of a batch that fails',
    'runs/batch-with-a-scope-mismatch-is-atomic',
    oneByOne,
  ),
  broken(
    'batch-results-by-run',
    'returns the results of a batch grouped by run',
    'runs/batch-results-in-input-order',
    () => ({
      runs: (runs) => ({
        async appendEvents(events, options) {
          const results = await runs.appendEvents(events, options);
          const order = [...new Set(events.map((it) => it.runId))];
          return order.flatMap((runId) => results.filter((_, at) => events[at]!.runId === runId));
        },
      }),
    }),
  ),
  broken('lax-event-ids', 'accepts any text as eventId', 'runs/event-id-is-a-v4-uuid', () => ({
    runs: (runs) => ({
      appendEvent: (event, options) => corrected(event, 'eventId', randomUUID(), (it) => runs.appendEvent(it, options)),
    }),
  })),
  broken('lax-attempts', 'coerces attempts to numbers', 'runs/attempts-are-integers-from-one', () => ({
    runs: (runs) => ({
      appendEvent: (event, options) => corrected(event, 'logicalAttemptId', 1, (it) => runs.appendEvent(it, options)),
    }),
  })),
  broken('unbound-scope', 'lets an event move to another project', 'runs/scope-is-bound-by-the-first-event', () => ({
    runs: (runs) => ({
      async appendEvent(event, options) {
        const [first] = await runs.fetchEvents(event.runId, { limit: 1 });
        return runs.appendEvent(
          { ...event, ...(first ? { projectId: first.projectId, environmentId: first.environmentId } : {}) },
          options,
        );
      },
    }),
  })),
  broken('delete-without-fence', 'deletes a run that has grown', 'runs/deletion-at-a-sequence', {
    runs: (runs) => ({
      deleteRun: (runId, { expectedSeq: _, ...options } = {}) => runs.deleteRun(runId, options),
    }),
  }),
  broken(
    'delete-without-tombstone',
    'lets a late retry restart a deleted run',
    'runs/deleted-runs-do-not-restart',
    () => {
      const lives = new Map<string, number>();
      const name = (runId: string) => (lives.has(runId) ? `${runId}~${lives.get(runId)}` : runId);
      return {
        runs: (runs) => ({
          appendEvent: (event, options) => runs.appendEvent({ ...event, runId: name(event.runId) }, options),
          async deleteRun(runId, options) {
            const there = await runs.deleteRun(name(runId), options);
            lives.set(runId, (lives.get(runId) ?? 0) + 1);
            return there;
          },
        }),
      };
    },
  ),
];

/** Remembers keys without their run. */
function keysPerStore() {
  const taken = new Map<string, { runId: string; result: AppendResult }>();
  const once = async (event: RunEventInput, append: () => Promise<AppendResult>) => {
    const key = event.idempotencyKey ?? event.eventId!;
    const known = taken.get(key);
    if (known && known.runId !== event.runId) return { ...known.result, idempotent: true, persisted: false };
    const result = await append();
    taken.set(key, { runId: event.runId, result });
    return result;
  };
  return {
    runs: (runs: RunStore) => ({
      appendEvent: (event: RunEventInput, options?: object) => once(event, () => runs.appendEvent(event, options)),
      async appendEvents(events: readonly RunEventInput[], options?: object) {
        if (events.length !== 1) return runs.appendEvents(events, options);
        return [await once(events[0]!, async () => (await runs.appendEvents(events, options))[0]!)];
      },
    }),
  };
}

function oneByOne() {
  return {
    runs: (runs: RunStore) => ({
      async appendEvents(events: readonly RunEventInput[]) {
        const results: AppendResult[] = [];
        for (const event of events) {
          results.push(await runs.appendEvent(event));
          await new Promise(setImmediate);
        }
        return results;
      },
    }),
  };
}

/** Retries a refused event with the field corrected. */
async function corrected<T>(
  event: RunEventInput,
  field: string,
  value: unknown,
  append: (event: RunEventInput) => Promise<T>,
): Promise<T> {
  try {
    return await append(event);
  } catch (error) {
    if (isTidemarkError(error, 'INVALID_ARGUMENT') && error.field === field)
      return append({ ...event, [field]: value } as RunEventInput);
    throw error;
  }
}
