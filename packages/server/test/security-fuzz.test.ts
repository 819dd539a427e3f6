/** Invalid requests to every operation: only responses of the OpenAPI document, never a server failure. */
import { expect, it } from 'vitest';
import { newSeed } from '../../../faults/random.ts';
import { fuzzServer } from '../../../faults/server-fuzzing.ts';
import { startServer } from './running.ts';

const ROUNDS = 10;

it('sends only documented responses to invalid requests, and keeps running', { timeout: 120_000 }, async () => {
  const seed = newSeed() | 0;
  console.log(`fuzz: ${ROUNDS} requests to each operation, seed ${seed}`);
  const logged: unknown[] = [];
  const log = (entry: unknown) => void logged.push(entry);
  const { url } = await startServer({ logger: { info: log, error: log }, inspector: false });
  const { requests, statuses, problems } = await fuzzServer({ url, rounds: ROUNDS, seed });
  expect(problems).toEqual([]);
  expect(requests).toBeGreaterThan(900);
  expect([...statuses.keys()].filter((it) => it >= 500)).toEqual([]);
  expect(statuses.get(200), 'some of them are right').toBeGreaterThan(0);
  expect(logged).toEqual([]);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});
