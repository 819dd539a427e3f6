/** A server killed under load: acknowledged writes are stored, others are settled by their key, and tails resume. */
import { createServer as reserve } from 'node:net';
import { join } from 'node:path';
import { httpStore } from '@tidemark/client';
import { isTidemarkError, type RunEventInput, type RunEventRecord, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Program, startNode } from '../../sqlite/test/programs.ts';
import { newFolder, runEvent } from './running.ts';

const KILLS = 3;
const WRITERS = 4;
const EVENTS_BETWEEN = 20;

async function freePort(): Promise<number> {
  const server = reserve();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Retries the same event until it is acknowledged, and counts the lost responses. */
async function appendSurely(client: Store, event: RunEventInput, lost: { answers: number }): Promise<void> {
  for (;;) {
    try {
      await client.runs.appendEvent(event);
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) throw error;
      if (error.code === 'OUTCOME_UNKNOWN') {
        expect(error.write, 'the error carries the write').toEqual({
          domain: 'runs',
          method: 'appendEvent',
          args: [event],
        });
        lost.answers++;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

describe('a server that is killed', () => {
  it('loses no acknowledged write, stores no retry twice, and its tails resume', {
    timeout: 90_000,
  }, async () => {
    const path = join(newFolder(), 'store.db');
    const port = await freePort();
    const start = async (): Promise<Program> => {
      const program = startNode({ script: 'packages/server/test/server-child.ts' }, path, String(port));
      await program.said('http://');
      return program;
    };
    let program = await start();
    onTestFinished(() => void program.child.kill('SIGKILL'));
    const client = await httpStore(`http://127.0.0.1:${port}`);

    const answered: string[] = [];
    const lost = { answers: 0 };
    let isWriting = true;
    const write = async (writer: number) => {
      for (let n = 0; isWriting; n++) {
        const key = `w${writer}-${n}`;
        await appendSurely(client, runEvent('r', key), lost);
        answered.push(key);
      }
    };
    const stop = new AbortController();
    const seen: RunEventRecord[] = [];
    const tail = (async () => {
      for await (const event of client.runs.tail('r', { signal: stop.signal })) seen.push(event);
    })();
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
    const moreAnswers = async () => {
      const enough = answered.length + EVENTS_BETWEEN;
      await expect.poll(() => answered.length, { timeout: 30_000 }).toBeGreaterThan(enough);
    };
    for (let kill = 0; kill < KILLS; kill++) {
      await moreAnswers();
      program.child.kill('SIGKILL');
      await program.ended;
      program = await start();
    }
    await moreAnswers();
    isWriting = false;
    await Promise.all(writers);
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(answered.length);
    stop.abort();
    await tail;
    await client.close();
    program.child.kill('SIGKILL');
    await program.ended;

    const store = await sqliteStore(path);
    try {
      const stored = await store.runs.fetchEvents('r', { limit: 10_000 });
      expect(stored.map((it) => it.idempotencyKey).sort(), 'each once').toEqual(answered.sort());
      expect(seen, 'the tail had all of it, in order').toEqual(stored);
      expect((await store.runs.verify('r')).ok).toBe(true);
    } finally {
      await store.close();
    }
  });
});
