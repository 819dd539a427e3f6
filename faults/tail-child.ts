/**
 * Tails a run up to a sequence and reports whether all events arrived in order and how much memory it used. `--path
 * --to --sleep-at`.
 */
import { parseArgs } from 'node:util';
import { sqliteStore } from '@tidemark/sqlite';

const { values } = parseArgs({
  options: { path: { type: 'string' }, to: { type: 'string' }, 'sleep-ms': { type: 'string', default: '0' } },
});

const to = Number(values.to);
const store = await sqliteStore(values.path!);
const stop = new AbortController();
let [expected, inOrder, start, most] = [1, true, 0, 0];
for await (const event of store.runs.tail('tailed', { signal: stop.signal })) {
  inOrder &&= event.runSeq === expected++;
  if (event.runSeq % 5_000 === 0) {
    global.gc?.();
    const { rss } = process.memoryUsage();
    if (start === 0) start = rss;
    most = Math.max(most, rss);
    // A slow consumer must not make the store buffer events that it has not asked for.
    await new Promise((resolve) => setTimeout(resolve, Number(values['sleep-ms'])));
  }
  if (event.runSeq === to) stop.abort();
}
await store.close();
console.log(JSON.stringify({ events: expected - 1, inOrder, grownMb: Math.round((most - start) / 2 ** 20) }));
