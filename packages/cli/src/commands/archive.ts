/** `archive`: moves whole runs to files in a directory, and back. */
import { RUN_STATUSES, type RunFilter } from '@tidemark/core';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choicesOf, maybe, moment, one, required, text } from '../options.ts';
import { openToOthers, privacyFix } from '../private-files.ts';
import { EVENTS } from './runs/views.ts';

const DIRECTORY = { directory: required(text('path', 'directory of the archive')) };
type InDirectory = CommandContext<unknown, { directory: string }>;

async function openArchiver({ store, options }: Pick<InDirectory, 'store' | 'options'>) {
  const { createArchiver, directoryTarget } = await import('@tidemark/runtime');
  const opened = await store({ mustExist: true, withoutRetries: true });
  return createArchiver({ store: opened, target: directoryTarget(options.directory) });
}

const tenantFilter = ({ settings }: Pick<InDirectory, 'settings'>) =>
  settings.tenant === undefined ? {} : { tenantId: settings.tenant };

const run = defineCommand({
  name: 'archive run',
  summary: 'Move ended runs, or one run, to an archive',
  details:
    'A run is removed from the store only after its copy was read back and checked. Without a run, moves all ended runs, or those with the --status given.',
  effect: 'destructive',
  args: { run: maybe('id of the run') },
  options: {
    ...DIRECTORY,
    status: choicesOf(RUN_STATUSES, 'status', 'only runs with this status'),
    plan: text('id', 'only runs of this plan'),
    quietSince: moment('time', 'only runs without an event since then: a time, or how long ago'),
  },
  examples: [
    { line: 'archive run --directory cold --dry-run', shows: '"runs":1' },
    { line: 'archive run order-42 --directory cold --yes', shows: '"runs":1' },
  ],
  async run(context) {
    const { out, io, args, options, dryRun, confirm, progress } = context;
    const archiver = await openArchiver(context);
    const filter: RunFilter = {
      ...tenantFilter(context),
      ...(options.status.length > 0 ? { status: options.status } : {}),
      ...(options.plan === undefined ? {} : { planId: options.plan }),
      ...(options.quietSince === undefined ? {} : { updatedBefore: options.quietSince }),
    };
    if (args.run !== undefined) {
      if (dryRun) return out.report({ dryRun: true, would: 'archive', runId: args.run }, args.run);
      await confirm({ action: `move the run ${args.run} to ${options.directory}`, answer: args.run });
      return out.report({ ...(await archiver.archiveRun(args.run, tenantFilter(context))) });
    }
    const planned = await archiver.archiveRuns(filter, { dryRun: true });
    if (dryRun) return out.report({ ...planned });
    await confirm({
      action: `move ${planned.runs} runs with ${planned.events} events to ${options.directory}`,
      answer: String(planned.runs),
    });
    const bar = progress('archiving');
    const report = await archiver.archiveRuns(filter, {
      signal: io.signal,
      onProgress: ({ runs }) => bar.to(runs, planned.runs),
    });
    bar.end();
    await out.report({ ...report });
    return io.signal.aborted ? EXIT.interrupted : EXIT.ok;
  },
});

const restore = defineCommand({
  name: 'archive restore',
  summary: 'Restore an archived run into the store',
  details: 'The copy in the archive is kept.',
  effect: 'rw',
  args: { run: one('id of the run') },
  options: DIRECTORY,
  examples: [{ line: 'archive restore order-900 --directory archive', shows: '"restored":true' }],
  async run(context) {
    const { out, args, dryRun } = context;
    const archiver = await openArchiver(context);
    if (dryRun) return out.report({ dryRun: true, would: 'restore', runId: args.run }, args.run);
    await out.report({ ...(await archiver.restoreRun(args.run, tenantFilter(context))) }, args.run);
  },
});

const read = defineCommand({
  name: 'archive events',
  summary: 'Show the events of an archived run without restoring it',
  effect: 'ro',
  args: { run: one('id of the run') },
  options: DIRECTORY,
  examples: [{ line: 'archive events order-900 --directory archive', shows: '"eventType":"RunCompleted"' }],
  async run(context) {
    const { out, args } = context;
    const archiver = await openArchiver(context);
    await out.list(archiver.readRun(args.run, tenantFilter(context)), EVENTS, `Run ${args.run} has no events.`);
  },
});

const verify = defineCommand({
  name: 'archive verify',
  summary: 'Read a whole archive and check every file and run',
  details: 'Exit code 6 when something is wrong.',
  effect: 'ro',
  options: DIRECTORY,
  examples: [{ line: 'archive verify --directory archive', shows: '"ok":true' }],
  async run(context) {
    const { out, io, options } = context;
    const archiver = await openArchiver(context);
    const check = await archiver.verify({ ...tenantFilter(context), signal: io.signal });
    await out.report({ ...check });
    const open = openToOthers([options.directory]);
    if (open.length > 0)
      await out.note(`Other users of this machine may read the archive; to prevent that, run ${privacyFix(open)}`);
    return check.ok ? EXIT.ok : EXIT.unmet;
  },
});

export const archiveCommands = [run, restore, read, verify];
