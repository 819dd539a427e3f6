/**
 * A process that copies a store or applies its retention policies, and kills itself at a named point or some
 * milliseconds after it. Without `--point` it finishes and exits. `--what --from --to --point --hit --delay`.
 */
import { parseArgs } from 'node:util';
import { copyStore, createRetention } from '@tidemark/runtime';
import { openStoreAt } from './copying-stores.ts';

const { values } = parseArgs({
  options: {
    what: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    point: { type: 'string' },
    hit: { type: 'string', default: '1' },
    delay: { type: 'string', default: '0' },
  },
});

let hits = 0;
function probe(point: string): void {
  if (point !== values.point || ++hits !== Number(values.hit)) return;
  const kill = () => process.kill(process.pid, 'SIGKILL');
  if (values.delay === '0') kill();
  else setTimeout(kill, Number(values.delay));
}

const from = await openStoreAt(values.from!);
if (values.what === 'copy') {
  const to = await openStoreAt(values.to!);
  const { complete, differences, problems } = await copyStore(from, to, { probe, mirror: true });
  if (!complete) console.error(differences, problems);
  process.exitCode = complete ? 0 : 3;
  await to.close();
} else {
  const policies = { runs: [{ name: 'ended', olderThan: 1, action: 'delete' }] } as const;
  const report = await createRetention({ store: from, policies, share: 1, probe }).run();
  if (report.problems.length > 0) console.error(report.problems);
  process.exitCode = report.problems.length === 0 ? 0 : 3;
}
await from.close();
