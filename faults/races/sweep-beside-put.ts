/**
 * One actor sweeps with the shortest grace period while another stores bytes that are not referenced yet or were just
 * released. An acknowledged artifact must be readable. A put that lost its upload must fail.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTidemarkError } from '@tidemark/core';
import { contentOf, readBack, slowly } from './artifact-content.ts';
import type { Arena, Race, RoundResult } from './race.ts';

const SIZES = [2_000, 600_000];
const WRITERS = 6;
const SWEEPS = 4;
const MAX_DELAY_MS = 30;

export const sweepBesidePut: Race = {
  summary: "' artifacts.sweep during puts of bytes it considers unreferenced",
  rounds: { short: 3, long: 200 },
  round,
};

async function round(arena: Arena): Promise<RoundResult> {
  const [a, b] = [arena.a.forTenant(arena.id).artifacts, arena.b.forTenant(arena.id).artifacts];
  const delay = () => arena.random.next() * MAX_DELAY_MS;
  const contents = SIZES.map((size) => contentOf(arena, size));
  for (const bytes of contents) await a.delete((await a.putBytes(bytes)).id);
  await sleep(2);
  const problems: string[] = [];
  let checks = 0;
  const writer = async (n: number) => {
    const bytes = contents[n % contents.length]!;
    const options = { scope: { sessionId: `session ${n}` } };
    await sleep(delay());
    try {
      const { id } = await (n < WRITERS / 2
        ? b.putBytes(bytes, options)
        : b.putStream(slowly(bytes, delay()), options));
      checks++;
      await sleep(delay());
      problems.push(...(await readBack(b, id, bytes, 'after a sweep')));
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) throw error;
    }
  };
  const sweeper = async () => {
    for (let n = 0; n < SWEEPS; n++) {
      await a.sweep({ grace: 1 });
      await sleep(delay() / SWEEPS);
    }
  };
  await Promise.all([sweeper(), ...Array.from({ length: WRITERS }, (_, n) => writer(n))]);
  return { checks, problems };
}
