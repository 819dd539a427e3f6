/** Follows a run in a separate process and prints each key with its time of arrival. */
import { postgresStore } from '@tidemark/postgres';

const [url, runId, count] = process.argv.slice(2) as [string, string, string];

const store = await postgresStore({ url });
let seen = 0;
for await (const { idempotencyKey } of store.runs.tail(runId)) {
  process.stdout.write(`${idempotencyKey} ${Date.now()}\n`);
  if (++seen === Number(count)) break;
}
await store.close();
