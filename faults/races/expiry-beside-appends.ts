/**
 * Two actors append to a run that expires soon, sweep expired runs and begin the next life, all at the same moment.
 * Every acknowledged event must be in the log of its life, without gaps, and none may be acknowledged after the expiry
 * that the previous event set. In the end the run must stay expired (RUN-21).
 */
import { randomUUID } from 'node:crypto';
import { type AppendResult, isTidemarkError, type Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import type { Arena, Race, RoundResult } from './race.ts';

const STEPS = 10;
const AFTER_MS = 60;
const RUN = 'expiring';
const EXPIRES = { expires: { after: AFTER_MS, status: 'any' } } as const;
/** Refusals that the rules allow here. All other errors are problems. */
const EXPECTED = ['RUN_DELETED', 'CONFLICT'] as const;

export const expiryBesideAppends: Race = {
  summary: 'appends to a run that expires during its sweeps and new lives',
  rounds: { short: 5, long: 150 },
  round,
};

async function round(arena: Arena): Promise<RoundResult> {
  const { a, b, id } = arena;
  const views = [a.forTenant(id), b.forTenant(id)] as const;
  const stored: AppendResult[] = [];
  const problems: string[] = [];
  await Promise.all(views.map((view) => act(view, arena, stored, problems)));
  compare(stored, problems);
  await sleep(2 * AFTER_MS);
  await expectExpired(views[1], problems);
  return { checks: stored.length + 1, problems };
}

/** One actor: appends to the life that it saw last or begins the next one, waits, and sweeps. */
async function act({ runs }: Store, { random }: Arena, stored: AppendResult[], problems: string[]): Promise<void> {
  let seen = 1;
  for (let step = 0; step < STEPS; step++) {
    const what = random.between(0, 6);
    if (what === 6) await sleep(random.between(0, 2 * AFTER_MS));
    const named = what < 2 ? 'new' : seen;
    try {
      if (what === 5) await runs.deleteExpired();
      else {
        const key = randomUUID();
        const result = await runs.handle(RUN, EXPIRES).append('Note', {}, { life: named, idempotencyKey: key });
        seen = result.life ?? 1;
        stored.push(result);
      }
    } catch (error) {
      if (!isTidemarkError(error, ...EXPECTED)) problems.push(`an append to life ${named} failed: ${String(error)}`);
      else seen = (await runs.position(RUN))?.life ?? seen;
    }
  }
}

/**
 * Checks each life separately: sequences must have no gaps, and no event may be later than the expiry of the previous
 * one.
 */
function compare(stored: readonly AppendResult[], problems: string[]): void {
  for (const [life, events] of Map.groupBy(stored, (it) => it.life ?? 1)) {
    const ordered = events.toSorted((one, other) => one.runSeq - other.runSeq);
    for (const [at, { runSeq, persistedAt }] of ordered.entries()) {
      if (runSeq !== at + 1) problems.push(`event ${runSeq} of life ${life} is number ${at + 1} that was acknowledged`);
      const before = at === 0 ? null : Date.parse(ordered[at - 1]!.persistedAt);
      if (before !== null && Date.parse(persistedAt) >= before + AFTER_MS)
        problems.push(`event ${runSeq} of life ${life} was acknowledged ${Date.parse(persistedAt) - before} ms later`);
    }
  }
}

async function expectExpired({ runs }: Store, problems: string[]): Promise<void> {
  if ((await runs.headSeq(RUN)) !== 0) problems.push('the run did not expire');
  const late = await runs.appendEvent({ runId: RUN, eventType: 'Note' }).then(
    () => 'stored',
    (error: unknown) => (isTidemarkError(error) ? error.code : String(error)),
  );
  if (late !== 'RUN_DELETED') problems.push(`a late append was ${late}`);
  await runs.deleteExpired();
  if ((await runs.deleteExpired()).deleted !== 0) problems.push('the run was deleted twice');
}
