/**
 * Adds entries to the log of a fenced thread on a SQLite file. Arguments: the file, the name of the process, and the
 * number of entries. After a conflict it reads the thread again.
 */
import { isTidemarkError } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { TidemarkSaver } from '../src/index.ts';
import { type Config, put } from './checkpoints.ts';

const [path, name, count] = process.argv.slice(2) as [string, string, string];
const store = await sqliteStore(path);
const saver = new TidemarkSaver(store, { fence: true });
for (let step = 0; step < Number(count); ) {
  const { config, checkpoint } = (await saver.getTuple({ configurable: { thread_id: 'turns' } }))!;
  const log = [...(checkpoint.channel_values.log as string[]), `${name}${step}`];
  try {
    await put(saver, config as Config, { log }, { version: log.length + 1 });
    step += 1;
  } catch (error) {
    if (!isTidemarkError(error, 'CONFLICT')) throw error;
  }
}
await store.close();
