/**
 * A sink that will be killed: copies a store to the fake of Snowflake until its end, and retries if it cannot start.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTidemarkError } from '@tidemark/core';
import { createSnowflakeSink } from '@tidemark/snowflake';
import { open } from 'tidemark';

const { values } = parseArgs({
  options: { url: { type: 'string' }, endpoint: { type: 'string' }, key: { type: 'string' }, page: { type: 'string' } },
});
const store = await open(values.url!);
for (;;) {
  try {
    await createSnowflakeSink({
      ...{ store, account: 'acme-test', user: 'loader', key: readFileSync(values.key!, 'utf8'), database: 'ANALYTICS' },
      ...{ endpoint: values.endpoint!, pageSize: Number(values.page), lease: '1s', purgeEvery: '5s' },
      onError: (error) => console.error(String(error)),
    });
    break;
  } catch (error) {
    if (!isTidemarkError(error) || !error.retryable) throw error;
    await sleep(1_000);
  }
}
