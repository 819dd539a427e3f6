/**
 * Runs the same commands on the store under test and on a memory store, and compares every result. A failure reports
 * the shortest failing sequence and the seed that replays it.
 */
import { isTidemarkError, memoryStore, type Store } from '@tidemark/core';
import fc from 'fast-check';
import { expectEqual } from '../expect.ts';
import type { Bench } from '../kit.ts';

const MAX_COMMANDS = 30;
/** Below the kit's time limit for a case, so that shrinking on a slow server still ends with its own report. */
const TIME_LIMIT_MS = 20_000;

/** Ids that collide on engines that do not encode or match ids exactly. */
export const COLLIDING_IDS: fc.Arbitrary<string> = fc.constantFrom(
  'r',
  'r%',
  'r_',
  'R',
  '{r}',
  'r.',
  'r:s',
  '__proto__',
  '..',
  'ŕ',
);

/** Applies one command and returns the result to compare, without times and values that engines may choose. */
export type Apply<C, S> = (store: Store, command: C, session: S) => Promise<unknown>;

/** Compares the store with the model over many command sequences. `newSession` returns the state of one sequence. */
export async function compareWithModel<C, S>(
  bench: Bench,
  command: fc.Arbitrary<C>,
  apply: Apply<C, S>,
  newSession: () => S,
): Promise<void> {
  const property = fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: MAX_COMMANDS }), async (commands) => {
    const tenantId = bench.id('tenant');
    const model = memoryStore();
    const sides = [bench.store, model].map((store) => ({ store: store.forTenant(tenantId), session: newSession() }));
    try {
      for (const [at, it] of commands.entries()) {
        const [actual, expected] = await Promise.all(
          sides.map(({ store, session }) => outcome(apply(store, it, session))),
        );
        expectEqual(
          actual,
          expected,
          `command ${at + 1} of ${commands.length}, ${fc.stringify(it)}, must return the same as the model`,
        );
      }
    } finally {
      await model.close();
    }
  });
  await fc.assert(property, {
    numRuns: bench.model.runs,
    interruptAfterTimeLimit: TIME_LIMIT_MS,
    ...(bench.model.seed === undefined ? {} : { seed: bench.model.seed }),
  });
}

/** Returns the result of a command. Errors are compared by code, because engines word them differently. */
async function outcome(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (isTidemarkError(error)) return { code: error.code, field: error.field, current: error.current };
    throw error;
  }
}
