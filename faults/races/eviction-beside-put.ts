/**
 * A session is full. One actor stores a new artifact, which evicts the least recently used artifact, while another
 * stores that same artifact again. It then counts as recently used and must stay.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Arena, Race, RoundResult } from './race.ts';

const SESSION_HOLDS = 4;
const SCOPE = { sessionId: 'session' };
const MAX_DELAY_MS = 8;

export const evictionBesidePut: Race = {
  summary: "' eviction of the least recently used artifact during a put of it",
  options: { artifacts: { maxSessionCount: SESSION_HOLDS } },
  rounds: { short: 6, long: 400 },
  round,
};

async function round({ a, b, random, id }: Arena): Promise<RoundResult> {
  const [writer, user] = [a.forTenant(id).artifacts, b.forTenant(id).artifacts];
  const put = (store: typeof user, text: string) => store.putText(`${text} of ${id}`, { scope: SCOPE });
  const oldest = await put(user, 'text 0');
  for (let n = 1; n < SESSION_HOLDS; n++) {
    await sleep(2);
    await put(user, `text ${n}`);
  }
  await sleep(2);
  await Promise.all([
    sleep(random.next() * MAX_DELAY_MS).then(() => put(user, 'text 0')),
    sleep(random.next() * MAX_DELAY_MS).then(() => put(writer, 'new')),
  ]);
  const isThere = await user.exists(oldest.id);
  return { checks: 1, problems: isThere ? [] : ['an artifact that was just stored again was pushed out'] };
}
