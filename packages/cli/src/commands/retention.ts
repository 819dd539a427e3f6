/** `retention`: removes or archives data according to policies in a file, or shows which data it would remove. */
import { invalidArgument, type Store } from '@tidemark/core';
import type { RetentionPolicies, RetentionReport } from '@tidemark/runtime';
import { ARCHIVE_TARGET, openArchiveTarget } from '../archive-target.ts';
import { readObject } from '../arguments.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { required, text } from '../options.ts';
import type { View } from '../output.ts';

const OPTIONS = {
  policies: required(
    text('file', 'JSON file with the policies: { "runs": [{ "name": …, "olderThan": "90d", "action": "delete" }] }'),
  ),
  archive: text('target', `${ARCHIVE_TARGET}, for policies that archive`),
};

type Context = CommandContext<unknown, { policies: string; archive: string | undefined }>;

async function openRetention({ store, options, io }: Context) {
  const { createArchiver, createRetention } = await import('@tidemark/runtime');
  const opened: Store = await store({ mustExist: true, withoutRetries: true });
  const policies = (await readObject(`@${options.policies}`, '--policies', io)) as RetentionPolicies;
  if (Object.keys(policies).length === 0)
    throw invalidArgument('--policies', 'a file with at least one policy', options.policies);
  const archiver =
    options.archive === undefined
      ? {}
      : { archiver: createArchiver({ store: opened, target: await openArchiveTarget(options.archive) }) };
  return createRetention({ store: opened, policies, share: 1, ...archiver });
}

type Row = RetentionReport['policies'][string] & { policy: string };

const COUNTS: View<Row> = {
  columns: [
    { title: 'POLICY', of: ({ policy }) => policy },
    { title: 'KIND', of: ({ kind }) => kind },
    { title: 'FOUND', of: ({ found }) => found },
    { title: 'DELETED', of: ({ deleted }) => deleted },
    { title: 'ARCHIVED', of: ({ archived }) => archived },
    { title: 'SPARED', of: ({ spared }) => spared },
    { title: 'FAILED', of: ({ failed }) => failed },
    { title: 'BYTES', of: ({ bytes }) => bytes },
  ],
  id: ({ policy }) => policy,
};

async function show({ out }: Pick<Context, 'out'>, { policies, problems }: RetentionReport): Promise<void> {
  const rows = Object.entries(policies).map(([policy, counts]) => ({ policy, ...counts }));
  await out.list(rows, COUNTS, 'No policies.');
  for (const { policy, id, error } of problems) await out.note(`${policy}: ${id ?? ''} ${error}`);
}

const plan = defineCommand({
  name: 'retention plan',
  summary: 'Show what the policies would remove or archive',
  effect: 'ro',
  options: OPTIONS,
  examples: [
    { line: 'retention plan --policies policies.json', shows: '"policy":"old","kind":"runs","found":1,"deleted":0' },
  ],
  async run(context) {
    const retention = await openRetention(context);
    const bar = context.progress('scanning');
    const report = await retention.plan({ signal: context.io.signal, onProgress: (it) => bar.to(foundIn(it)) });
    bar.end();
    await show(context, report);
  },
});

const run = defineCommand({
  name: 'retention run',
  summary: 'Remove or archive data according to the policies',
  details: 'Exits with code 1 if anything could not be removed; the next run retries it.',
  effect: 'destructive',
  options: OPTIONS,
  examples: [{ line: 'retention run --policies policies.json --yes', shows: '"deleted":1' }],
  async run(context) {
    const { io, dryRun, confirm, progress } = context;
    const retention = await openRetention(context);
    const planned = await retention.plan({ signal: io.signal });
    if (dryRun) return show(context, planned);
    const found = foundIn(planned);
    await confirm({ action: `remove or archive ${found} items that the policies select`, answer: String(found) });
    const bar = progress('removing');
    const report = await retention.run({ signal: io.signal, onProgress: (it) => bar.to(foundIn(it), found) });
    bar.end();
    await show(context, report);
    if (io.signal.aborted) return EXIT.interrupted;
    return report.problems.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

function foundIn({ policies }: RetentionReport): number {
  return Object.values(policies).reduce((sum, { found }) => sum + found, 0);
}

export const retentionCommands = [plan, run];
