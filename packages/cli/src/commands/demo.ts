/** `demo`: fills a store with example data. */
import { shownUrl } from '@tidemark/core/engine';
import { defineCommand } from '../command.ts';
import { fillDemo } from '../demo/fill.ts';
import { integer, withDefault } from '../options.ts';

const demo = defineCommand({
  name: 'demo',
  summary: 'Fill an empty store with a week of runs, sessions and jobs',
  details:
    'Writes orders, research agents and nightly loads of several tenants, some of them failed, retried, paused or stuck, and one run of 20 000 events. A server assigns its own times, so there all data is from now.',
  effect: 'rw',
  options: { seed: withDefault(integer('n', 'seed of the generated data'), 7) },
  examples: [
    { line: 'demo --store sqlite:demo.db', shows: '"runs":' },
    { line: 'demo --store sqlite:demo.db --dry-run', shows: '"would":"fill"' },
    { line: 'demo', shows: 'holds runs already', exit: 5 },
  ],
  async run({ out, settings, options, dryRun }) {
    const store = shownUrl(settings.store);
    if (dryRun) return out.report({ dryRun: true, would: 'fill', store });
    const began = performance.now();
    const counts = await fillDemo(settings.store, options);
    await out.report({ store, ...counts, seconds: Math.round((performance.now() - began) / 100) / 10 });
  },
});

export const demoCommands = [demo];
