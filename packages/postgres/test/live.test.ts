/** Live tails in another process: prompt by notification, and complete without it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newDatabase, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { Program } from './programs.ts';
import { withClient } from './servers.ts';

function startTail(url: string, count: number): Program {
  const program = new Program('tail-child.ts', url, 'r', String(count));
  onTestFinished(() => program.kill().catch(() => {}));
  return program;
}

const LISTENERS = "FROM pg_stat_activity WHERE application_name = 'tidemark listener' AND datname = current_database()";

describe.skipIf(WITHOUT_POSTGRES)('a tail in another process', () => {
  it('receives most events long before its next poll', { timeout: 60_000 }, async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.runs.appendEvent(runEvent('r', 'first'));
    const tail = startTail(url, 11);
    await tail.line('first');
    const latencies: number[] = [];
    for (let at = 0; at < 10; at++) {
      // Never synchronised with the tail's poll, which runs every half second.
      await sleep(130 + at * 37);
      const sent = Date.now();
      await store.runs.appendEvent(runEvent('r', `e${at}`));
      latencies.push(Number((await tail.line(`e${at} `)).split(' ')[1]) - sent);
    }
    await tail.ended;
    expect(latencies.sort((a, b) => a - b)[5]).toBeLessThan(200);
  });

  it('misses nothing while its listener is terminated repeatedly', { timeout: 60_000 }, async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.runs.appendEvent(runEvent('r', 'first'));
    const tail = startTail(url, 41);
    await tail.line('first');
    let ended = 0;
    for (let at = 0; at < 40; at++) {
      if (at % 5 === 0) {
        const { rows } = await withClient(url, (client) =>
          client.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`),
        );
        ended += rows.length;
      }
      await store.runs.appendEvent(runEvent('r', `e${at}`));
      await sleep(60);
    }
    await tail.ended;
    expect(ended).toBeGreaterThan(0);
    const keys = tail.output
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]);
    expect(keys).toEqual(['first', ...Array.from({ length: 40 }, (_, at) => `e${at}`)]);
  });

  it('shares one listener with all tails of its process', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const stop = new AbortController();
    const follow = async (run: string) => {
      for await (const _ of store.runs.tail(run, { signal: stop.signal }));
    };
    const following = Array.from({ length: 20 }, (_, at) => follow(`run-${at}`));
    await sleep(300);
    const { rows } = await withClient(url, (client) => client.query(`SELECT pid ${LISTENERS}`));
    stop.abort();
    await Promise.all(following);
    expect(rows.length).toBe(1);
  });
});
