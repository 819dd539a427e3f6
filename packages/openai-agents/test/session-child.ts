/**
 * Works on a session on a SQLite file and writes a line for each acknowledged step. Arguments: the file, the step, the
 * prefix of the items, and the number of steps.
 */
import { sqliteStore } from '@tidemark/sqlite';
import { TidemarkSession } from '../src/index.ts';
import { message, textsOf } from './items.ts';

const [path, step, prefix, count] = process.argv.slice(2) as [string, 'add' | 'pop' | 'transact', string, string];
const store = await sqliteStore(path);
const session = new TidemarkSession(store, { sessionId: 'shared' });
for (let at = 0; at < Number(count); at++) {
  const item = message(`${prefix}-${at}`);
  if (step === 'add') await session.addItems([item]);
  else if (step === 'transact') {
    const transaction = { type: 'append_items' as const, items: [item] };
    await session.applyHistoryTransaction({ operationId: `${prefix}-${at}`, transaction });
  }
  const popped = step === 'pop' ? await session.popItem() : item;
  process.stdout.write(`${popped === undefined ? '' : textsOf([popped])[0]}\n`);
}
await store.close();
