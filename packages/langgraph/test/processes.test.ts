/** Processes that write a growing chat, and one that prunes it, are killed again and again. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startChild } from '../../../scripts/adapters/children.ts';
import { openTarget } from '../../../scripts/adapters/targets.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { TidemarkSaver } from '../src/index.ts';

/** Few in `npm test`, because processes start slowly; `npm run test:matrix` sets the variable. */
const ROUNDS = process.env.TIDEMARK_TEST_SEQUENCES === undefined ? 2 : 8;
const STEPS = 12;
const CHILD = join(import.meta.dirname, 'chat-child.ts');
const SERVERS = (['postgres', 'redis'] as const).filter((engine) => offeredUrl(engine) !== undefined);

it.each(['sqlite', ...SERVERS])('loses no message of a chat on %s', { timeout: 400_000 }, async (engine) => {
  const file = join(mkdtempSync(join(tmpdir(), 'tidemark-chat-')), 'state.db');
  const target = `${engine}:${engine === 'sqlite' ? file : `chat_${crypto.randomUUID().slice(0, 8)}`}`;
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const pruner = startChild(CHILD, target, 'pruner', 'prune');
    const writers = ['a', 'b'].map((name) => startChild(CHILD, target, `${name}${round}`, 'write'));
    await Promise.race(writers.map((writer) => writer.written(STEPS)));
    for (const child of [pruner, ...writers]) child.process.kill('SIGKILL');
    await Promise.all([pruner, ...writers].map(({ ended }) => ended));
    acknowledged = Math.max(acknowledged, ...writers.flatMap(({ lines }) => lines.map(Number)));
  }
  const store = await openTarget(target);
  const saver = new TidemarkSaver(store, { fence: true });
  const { log } = (await saver.getTuple({ configurable: { thread_id: 'chat' } }))!.checkpoint.channel_values as {
    log: string[];
  };
  // A checkpoint may be stored without its writer having learnt it.
  expect(log.length).toBeGreaterThanOrEqual(acknowledged);
  expect(acknowledged).toBeGreaterThanOrEqual(ROUNDS * STEPS);
  // Each message was added to the chat as it was, so its number is its position.
  expect(log.map((text) => Number(/^\w+ (\d+):/.exec(text)?.[1]))).toEqual(log.map((_, at) => at));
  await saver.prune({ threadId: 'chat' });
  for await (const { checkpoint } of new TidemarkSaver(store).list({ configurable: { thread_id: 'chat' } }))
    expect(checkpoint.channel_values.log).toEqual(log.slice(0, (checkpoint.channel_values.log as string[]).length));
  await store.close();
});
