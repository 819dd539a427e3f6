/**
 * One actor stores an artifact repeatedly while another deletes it. An artifact that is readable afterwards must be
 * listed in its session, and a listed one must be removed by `eraseSession`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

/** Large enough to be written in several parts on an engine that limits the size of messages. */
const SOURCE_BYTES = 2_000_000;
const MAX_DELAY_MS = 60;
const SCOPE = { sessionId: 'session', traceId: 'trace' };
/** Reading a permanently unreadable record retries until its timeout. */
const READ = { timeoutMs: 10_000 };

export const putBesideDelete: Race = {
  summary: "' put of an artifact during a delete of the same artifact",
  rounds: { short: 4, long: 300 },
  round,
};

async function round({ a, b, random, id }: Arena): Promise<RoundResult> {
  const [writer, remover] = [a.forTenant(id), b.forTenant(id)];
  const source = { text: 'x'.repeat(SOURCE_BYTES) };
  const put = () => writer.artifacts.putText(`text of ${id}`, { scope: SCOPE, source });
  const ref = await put();
  const remove = async (delayMs: number) => {
    await sleep(delayMs);
    await remover.artifacts.delete(ref.id);
  };
  const delays = [random.between(0, MAX_DELAY_MS), random.between(0, MAX_DELAY_MS)] as const;
  await Promise.all([put(), remove(delays[0]), remove(delays[1])]);
  const problems: string[] = [];
  try {
    await checkListed(remover, ref.id, problems);
    await remover.admin.eraseSession(SCOPE.sessionId);
    if ((await writer.artifacts.getRef(ref.id, READ)) !== null) problems.push('an artifact survived eraseSession');
  } catch (error) {
    problems.push(`an artifact can neither be read nor removed: ${error}`);
  }
  return { checks: 1, problems };
}

/** Checks that every kind of read agrees whether the artifact exists. */
async function checkListed({ artifacts }: Store, id: string, problems: string[]): Promise<void> {
  const isReadable = (await artifacts.get(id, READ)) !== null;
  for (const scope of [{ sessionId: SCOPE.sessionId }, { traceId: SCOPE.traceId }, {}]) {
    const isListed = (await artifacts.list(scope, READ)).items.some((item) => item.id === id);
    if (isListed === isReadable) continue;
    const where = Object.keys(scope)[0] ?? 'tenant';
    problems.push(`an artifact is ${isReadable ? '' : 'not '}readable and ${isListed ? '' : 'not '}listed by ${where}`);
  }
}
