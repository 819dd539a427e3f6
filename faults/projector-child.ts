/** One of several projector processes. Prints a summary when it receives the signal to stop. `--url`. */
import { parseArgs } from 'node:util';
import { createProjector } from '@tidemark/runtime';
import { open } from 'tidemark';

const { values } = parseArgs({ options: { url: { type: 'string' } } });
const store = await open(values.url!);
const projector = await createProjector({ store, lease: '3s', onError: (error) => console.error(error) });
const lags: number[] = [];
const watch = setInterval(() => {
  const { lagMs } = projector.status();
  if (lagMs !== null) lags.push(lagMs);
}, 100);
process.stdout.write('ready\n');
process.once('SIGTERM', async () => {
  clearInterval(watch);
  await projector.stop();
  await store.close();
  lags.sort((a, b) => a - b);
  const { folded, refreshed } = projector.status();
  console.log(JSON.stringify({ folded, refreshed, median: lags[lags.length >> 1], worst: lags.at(-1) }));
});
