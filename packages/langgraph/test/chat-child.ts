/**
 * Continues a chat that several processes share, or prunes it, until the process is killed. Arguments: the store, the
 * name of the process, and `write` or `prune`. A writer prints the length of the chat after each checkpoint.
 */
import { isTidemarkError } from '@tidemark/core';
import { openTarget } from '../../../scripts/adapters/targets.ts';
import { TidemarkSaver } from '../src/index.ts';
import { type Config, prose, put } from './checkpoints.ts';

const [target, name, task] = process.argv.slice(2) as [string, string, string];
const store = await openTarget(target);
const saver = new TidemarkSaver(store, { fence: true });
const thread: Config = { configurable: { thread_id: 'chat' } };

async function write(): Promise<void> {
  const tuple = await saver.getTuple(thread);
  const before = (tuple?.checkpoint.channel_values.log ?? []) as string[];
  const log = [...before, `${name} ${before.length}: ${prose(before.length, before.length % 9 === 0 ? 2_000 : 80)}`];
  await put(saver, (tuple?.config ?? thread) as Config, { log }, { version: log.length });
  console.log(log.length);
}

for (;;) {
  if (task === 'prune') await saver.prune({ threadId: 'chat', keep: 2 });
  else {
    try {
      await write();
    } catch (error) {
      if (!isTidemarkError(error, 'CONFLICT')) throw error;
    }
  }
}
