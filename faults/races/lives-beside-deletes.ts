/**
 * Two actors delete a run, begin its next life and append to the lives they know, all at the same moment. Afterwards
 * the log must contain exactly the acknowledged events of its life, each once, and no event of another life (RUN-18).
 */
import { randomUUID } from 'node:crypto';
import { type AppendResult, isTidemarkError, type Store } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

const STEPS = 8;
const RUN = 'reborn';
/** Refusals that the rules allow here. All other errors are problems. */
const EXPECTED = ['RUN_DELETED', 'CONFLICT'] as const;

/** An acknowledged append: the life it named, and the result. */
interface Stored {
  key: string;
  named: number | 'new';
  result: AppendResult;
}

export const livesBesideDeletes: Race = {
  summary: 'appends to every life of a run while it is deleted and started again',
  rounds: { short: 6, long: 200 },
  round,
};

async function round(arena: Arena): Promise<RoundResult> {
  const { a, b, id } = arena;
  const views = [a.forTenant(id), b.forTenant(id)] as const;
  await views[0].runs.handle(RUN).append('Begun');
  await views[0].runs.deleteRun(RUN);
  const stored: Stored[] = [];
  const problems: string[] = [];
  await Promise.all(views.map((view) => act(view, arena, stored, problems)));
  await compare(views[1], stored, problems);
  return { checks: stored.length + 1, problems };
}

/** One actor: appends to the life that it saw last or to an earlier one, or begins the next life. */
async function act({ runs }: Store, { random }: Arena, stored: Stored[], problems: string[]): Promise<void> {
  let seen = 1;
  for (let step = 0; step < STEPS; step++) {
    const what = random.between(0, 6);
    const key = randomUUID();
    const named = what < 2 ? 'new' : what === 2 ? Math.max(1, seen - 1) : seen;
    try {
      if (what === 5) {
        await runs.deleteRun(RUN);
        continue;
      }
      const result = await runs.handle(RUN).append('Note', { key }, { life: named, idempotencyKey: key });
      seen = result.life ?? 1;
      stored.push({ key, named, result });
    } catch (error) {
      if (!isTidemarkError(error, ...EXPECTED)) problems.push(`an append to life ${named} failed: ${String(error)}`);
      else seen = (await runs.position(RUN))?.life ?? seen;
    }
  }
}

async function compare({ runs }: Store, stored: readonly Stored[], problems: string[]): Promise<void> {
  const begun = new Map<number, string>();
  for (const { key, named, result } of stored) {
    const life = result.life ?? 1;
    if (named !== 'new' && named !== life) problems.push(`an append to life ${named} was stored in life ${life}`);
    if (named === 'new' && result.runSeq !== 1) problems.push(`life ${life} begins with event ${result.runSeq}`);
    if (named === 'new' && begun.has(life)) problems.push(`life ${life} was begun twice`);
    if (named === 'new') begun.set(life, key);
  }
  const position = await runs.position(RUN);
  const life = position?.life ?? 1;
  const expected = position === null ? [] : stored.filter(({ result }) => (result.life ?? 1) === life);
  const log = position === null ? [] : await runs.fetchEvents(RUN);
  const keys = expected.toSorted((one, other) => one.result.runSeq - other.result.runSeq).map(({ key }) => key);
  const found = log.map(({ idempotencyKey }) => idempotencyKey);
  if (JSON.stringify(found) !== JSON.stringify(keys))
    problems.push(
      `life ${life} has ${found.length} events, ${keys.length} were acknowledged, in another order or number`,
    );
  if (position !== null && !(await runs.verify(RUN)).ok) problems.push(`the chain of life ${life} is broken`);
}
