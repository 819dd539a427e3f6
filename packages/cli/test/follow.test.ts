/** `--follow`: shows every event once and in order, even if the server restarts, and prints the cursor at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { createServer, type TidemarkServer } from '@tidemark/server';
import { open } from 'tidemark';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';

let directory: string;
let store: Store;
let url: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-follow-'));
  url = `sqlite:${directory}/a.db`;
  store = await open(url);
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const append = (count: number) =>
  store.runs.appendEvents(
    Array.from({ length: count }, () => ({
      ...{ eventId: crypto.randomUUID(), eventType: 'Tick', emittedAt: new Date().toISOString(), runId: 'r' },
      ...{ tenantId: 'default', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
      ...{ engineAttemptId: 1, logicalAttemptId: 1, payload: {} },
    })),
  );

/** Follows until this many events were printed. */
function following(line: string, until: number) {
  const seen: number[] = [];
  const interrupted = new AbortController();
  const ended = tidemark(line, {
    signal: interrupted.signal,
    onOutput(text) {
      for (const part of text.split('\n').filter(Boolean)) seen.push(JSON.parse(part).runSeq);
      if (seen.length >= until) interrupted.abort();
    },
  });
  return { seen, ended };
}

const reaches = async (seen: readonly unknown[], count: number) => {
  while (seen.length < count) await new Promise((done) => setTimeout(done, 10));
};

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe('runs events --follow', () => {
  it('prints stored events, then new ones, and how to resume', async () => {
    await append(3);
    const { seen, ended } = following(`runs events r -f --store ${url}`, 8);
    await reaches(seen, 3);
    await append(5);
    const { code, stderr } = await ended;
    expect(seen).toEqual(upTo(8));
    expect(code).toBe(130);
    expect(stderr).toContain('continue with --after-seq 8');
    await append(2);
    const resumed = following(`runs events r -f --after-seq 8 --store ${url}`, 2);
    await resumed.ended;
    expect(resumed.seen).toEqual([9, 10]);
  });

  it('starts with the last N', async () => {
    await append(20);
    const { seen, ended } = following(`runs events r -f --tail 2 --store ${url}`, 2);
    await ended;
    expect(seen).toEqual([19, 20]);
  });

  it('waits for a run that does not exist yet', async () => {
    const { seen, ended } = following(`runs events r -f --store ${url}`, 1);
    await new Promise((done) => setTimeout(done, 100));
    await append(1);
    await ended;
    expect(seen).toEqual([1]);
  });

  it('advances its cursor past filtered events', async () => {
    await append(4);
    await store.runs.handle('r', { projectId: 'p', environmentId: 'e' }).append('Wanted');
    const { seen, ended } = following(`runs events r -f --type Wanted --store ${url}`, 1);
    expect((await ended).stderr).toContain('--after-seq 5');
    expect(seen).toEqual([5]);
  });

  it('resumes after the server restarts', async () => {
    const serve = async (port: number): Promise<TidemarkServer> => {
      const server = createServer({ store, port, logger: { info() {}, error() {} } });
      await server.listen();
      return server;
    };
    let server = await serve(0);
    const port = Number(new URL(server.url).port);
    await append(3);
    const { seen, ended } = following(`runs events r -f --store ${server.url}`, 9);
    for (const count of [3, 6]) {
      await reaches(seen, count);
      await server.close();
      await append(3);
      server = await serve(port);
    }
    expect((await ended).code).toBe(130);
    await server.close();
    expect(seen).toEqual(upTo(9));
  });
});

describe('sessions updates --follow', () => {
  it('prints updates as they are saved', async () => {
    const save = (updateId: string) =>
      store.agents.saveUpdate({
        sessionId: 's',
        taskId: 't',
        updateId,
        updateType: 'PROGRESS',
        content: 1,
        createdAt: new Date().toISOString(),
      });
    await save('u1');
    const seen: string[] = [];
    const interrupted = new AbortController();
    const ended = tidemark(`sessions updates s -f --store ${url}`, {
      signal: interrupted.signal,
      onOutput(text) {
        seen.push(JSON.parse(text).updateId);
        if (seen.length === 2) interrupted.abort();
      },
    });
    await reaches(seen, 1);
    await save('u2');
    expect((await ended).stderr).toContain('--since-id u2');
    expect(seen).toEqual(['u1', 'u2']);
  });
});
