/** Processes that are killed, and processes that change the same session. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '@tidemark/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startChild } from '../../../scripts/adapters/children.ts';
import { TidemarkSession } from '../src/index.ts';
import { message, textsOf } from './items.ts';

const CHILD = join(import.meta.dirname, 'session-child.ts');

it('keeps every acknowledged transaction when the process is killed, and applies a retry once', async () => {
  const path = newFile();
  const child = startChild(CHILD, path, 'transact', 'killed', '100000');
  await child.written(40);
  child.process.kill('SIGKILL');
  await child.ended;
  const session = await openSession(path);
  const stored = textsOf(await session.getItems());
  expect(stored.slice(0, child.lines.length)).toEqual(child.lines);
  expect(stored.length - child.lines.length).toBeLessThanOrEqual(1);
  // The next process does not know whether the last transaction was stored.
  const last = `killed-${child.lines.length}`;
  await session.applyHistoryTransaction({
    operationId: last,
    transaction: { type: 'append_items', items: [message(last)] },
  });
  expect(textsOf(await session.getItems())).toEqual([...child.lines, last]);
});

it('loses and repeats no item when three processes add and pop', async () => {
  const path = newFile();
  const session = await openSession(path);
  const [adding, other, popping] = [
    startChild(CHILD, path, 'add', 'one', '40'),
    startChild(CHILD, path, 'add', 'two', '40'),
    startChild(CHILD, path, 'pop', '', '40'),
  ];
  await Promise.all([adding!.ended, other!.ended, popping!.ended]);
  const popped = popping!.lines.filter((line) => line !== '');
  const left = textsOf(await session.getItems());
  expect([...popped, ...left].sort()).toEqual([...adding!.lines, ...other!.lines].sort());
  for (const prefix of ['one', 'two']) {
    const numbers = left.filter((text) => text.startsWith(prefix)).map((text) => Number(text.slice(4)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  }
});

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), 'tidemark-openai-')), 'state.db');
}

async function openSession(path: string): Promise<TidemarkSession> {
  const store = await sqliteStore(path);
  onTestFinished(() => store.close());
  return new TidemarkSession(store, { sessionId: 'shared' });
}
