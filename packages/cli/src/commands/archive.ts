/** `archive`: moves whole runs to files in a directory or bucket, and back. */
import { RUN_STATUSES, type RunFilter } from '@tidemark/core';
import { hideUrlSecrets } from '@tidemark/core/engine';
import { ARCHIVE_TARGET, archiveTargetOf, openArchiveTarget, privacyFixOf } from '../archive-target.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choicesOf, maybe, moment, one, text } from '../options.ts';
import { EVENTS } from './runs/views.ts';

const DIRECTORY = { directory: text('path', 'a directory; the name of this option in version 0.1') };
const TO = { to: text('target', ARCHIVE_TARGET), ...DIRECTORY };
const FROM = { from: text('target', ARCHIVE_TARGET), ...DIRECTORY };
type WithTarget = CommandContext<
  unknown,
  { to?: string | undefined; from?: string | undefined; directory: string | undefined }
>;

function targetUrlOf(options: WithTarget['options']): string {
  const { to, from, directory } = options;
  return archiveTargetOf('to' in options ? '--to' : '--from', to ?? from, directory);
}

async function openArchiver({ store, options }: Pick<WithTarget, 'store' | 'options'>) {
  const { createArchiver } = await import('@tidemark/runtime');
  const target = await openArchiveTarget(targetUrlOf(options));
  const opened = await store({ mustExist: true, withoutRetries: true });
  return createArchiver({ store: opened, target });
}

const tenantFilter = ({ settings }: Pick<WithTarget, 'settings'>) =>
  settings.tenant === undefined ? {} : { tenantId: settings.tenant };

const run = defineCommand({
  name: 'archive run',
  summary: 'Move ended runs, or one run, to an archive',
  details:
    'A run is removed from the store only after its copy was read back and checked. Without a run, moves all ended runs, or those with the given --status.',
  effect: 'destructive',
  args: { run: maybe('id of the run') },
  options: {
    ...TO,
    status: choicesOf(RUN_STATUSES, 'status', 'only runs with this status'),
    plan: text('id', 'only runs of this plan'),
    quietSince: moment('time', 'only runs without an event since then: a time, or how long ago'),
  },
  examples: [
    { line: 'archive run --to cold --dry-run', shows: '"runs":1' },
    { line: 'archive run order-42 --to cold --yes', shows: '"runs":1' },
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
      await confirm({
        action: `move the run ${args.run} to ${hideUrlSecrets(targetUrlOf(options))}`,
        answer: args.run,
      });
      return out.report({ ...(await archiver.archiveRun(args.run, tenantFilter(context))) });
    }
    const planned = await archiver.archiveRuns(filter, { dryRun: true });
    if (dryRun) return out.report({ ...planned });
    await confirm({
      action: `move ${planned.runs} runs with ${planned.events} events to ${hideUrlSecrets(targetUrlOf(options))}`,
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
  options: FROM,
  examples: [{ line: 'archive restore order-900 --from archive', shows: '"restored":true' }],
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
  options: FROM,
  examples: [{ line: 'archive events order-900 --from archive', shows: '"eventType":"RunCompleted"' }],
  async run(context) {
    const { out, args } = context;
    const archiver = await openArchiver(context);
    await out.list(archiver.readRun(args.run, tenantFilter(context)), EVENTS, `Run ${args.run} has no events.`);
  },
});

const verify = defineCommand({
  name: 'archive verify',
  summary: 'Read a whole archive and check every file and run',
  details: 'Exits with code 6 if a file or run is damaged.',
  effect: 'ro',
  options: FROM,
  examples: [{ line: 'archive verify --from archive', shows: '"ok":true' }],
  async run(context) {
    const { out, io, options } = context;
    const archiver = await openArchiver(context);
    const check = await archiver.verify({ ...tenantFilter(context), signal: io.signal });
    await out.report({ ...check });
    const fix = privacyFixOf(targetUrlOf(options));
    if (fix) await out.note(`Other users of this machine may read the archive; to prevent that, run ${fix}`);
    return check.ok ? EXIT.ok : EXIT.unmet;
  },
});

export const archiveCommands = [run, restore, read, verify];
