/** A producer that is killed, and several processes that serve the same stream. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '@tidemark/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startChild } from '../../../scripts/adapters/children.ts';
import { createResumableStreamContext, type TidemarkStreamContext } from '../src/index.ts';
import { PRODUCER_TIMEOUT_MS, STREAM } from './stream.ts';

const CHILD = join(import.meta.dirname, 'stream-child.ts');

it('returns what a killed producer has stored, then an error, and may begin again', async () => {
  const path = newFile();
  const child = startChild(CHILD, path, '100000');
  await child.written(30);
  child.process.kill('SIGKILL');
  await child.ended;
  const seen = child.lines.slice(1).map((line) => `${line}\n`);
  const streams = await openStreams(path);
  const texts: string[] = [];
  const reading = (async () => {
    for await (const text of (await streams.resumeExistingStream(STREAM))!) texts.push(text);
  })();
  await expect(reading).rejects.toThrow('The producer of the stream stopped');
  // The reader of the child saw nothing that was not stored.
  expect(texts.join('').startsWith(seen.join(''))).toBe(true);
  expect(await streams.hasExistingStream(STREAM)).toBe('DONE');
  await streams.deleteStream(STREAM);
  expect(await streams.hasExistingStream(STREAM)).toBeNull();
});

it('has one producer among three processes, and all of them return the whole stream', async () => {
  const path = newFile();
  await (await sqliteStore(path)).close();
  const children = Array.from({ length: 3 }, () => startChild(CHILD, path, '400'));
  await Promise.all(children.map(({ ended }) => ended));
  expect(children.map(({ lines }) => lines[0]).sort()).toEqual(['consumer', 'consumer', 'producer']);
  const whole = Array.from({ length: 400 }, (_, at) => `chunk ${at}`);
  for (const { lines } of children) expect(lines.slice(1)).toEqual(whole);
});

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), 'tidemark-streams-')), 'state.db');
}

async function openStreams(path: string): Promise<TidemarkStreamContext> {
  const store = await sqliteStore(path);
  onTestFinished(() => store.close());
  return createResumableStreamContext(store, { producerTimeout: PRODUCER_TIMEOUT_MS });
}
