/** `sweep`: recovers stuck jobs, once or repeatedly. */
import type { SweepReport } from '@tidemark/runtime';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { duration, integer, withDefault } from '../options.ts';
import type { Output, View } from '../output.ts';
import { untilStopped } from '../until-stopped.ts';
import { OVERDUE } from './jobs.ts';

type SweptType = { taskType: string } & SweepReport['types'][string];

const TYPES: View<SweptType> = {
  columns: [
    { title: 'TYPE', of: ({ taskType }) => taskType },
    { title: 'STUCK', of: ({ seen }) => seen },
    { title: 'REQUEUED', of: ({ requeued }) => requeued },
    { title: 'FAILED', of: ({ failed }) => failed },
    { title: 'RELEASED', of: ({ released }) => released },
    { title: 'SIGNALLED', of: ({ signalled }) => signalled },
    { title: 'ERRORS', of: ({ errors }) => errors },
  ],
  id: ({ taskType }) => taskType,
};

const sweep = defineCommand({
  name: 'sweep',
  summary: 'Recover stuck jobs',
  details:
    'Requeues jobs whose lease has expired, fails those with no retries left, and makes delayed jobs that are due available. Exits with code 1 if anything could not be swept.',
  effect: 'rw',
  options: {
    threshold: withDefault(duration('duration', 'how long a job may stay unchanged'), 300_000, '5m'),
    limit: withDefault(integer('n', 'maximum number of jobs per type and sweep', 1), 100),
    every: duration('duration', 'sweep repeatedly at this interval until interrupted'),
  },
  examples: [
    { line: 'sweep --dry-run --threshold 1ms', shows: '"reason":"not claimed"' },
    { line: 'sweep', shows: '"problems":[]' },
  ],
  async run({ store, out, io, options, dryRun }) {
    const { createSweeper } = await import('@tidemark/runtime');
    const { threshold, limit, every } = options;
    const shown: Promise<void>[] = [];
    const sweeper = createSweeper({
      store: await store(),
      ...{ threshold, limit, dryRun },
      ...(every === undefined ? {} : { interval: every }),
      onReport: (report) => void shown.push(out.form === 'table' ? showTables(out, report) : show(out, report)),
    });
    if (every === undefined) {
      const { problems } = await sweeper.run();
      await Promise.all(shown);
      return problems.length > 0 ? EXIT.failed : EXIT.ok;
    }
    sweeper.start();
    await untilStopped(io.signal, undefined);
    await sweeper.stop();
    await Promise.all(shown);
    return EXIT.ok;
  },
});

async function show(out: Output, report: SweepReport): Promise<void> {
  const problems = report.problems.map(({ taskType, error }) => ({ taskType, error: String(error) }));
  await out.report({ ...report, startedAt: new Date(report.startedAt).toISOString(), problems });
}

/** Prints the jobs found by a dry run, or a sweep's counts by type. Then prints the problems. */
async function showTables(out: Output, { types, found, problems }: SweepReport): Promise<void> {
  if (found) await out.list(found, OVERDUE, 'No stuck jobs.');
  else {
    const swept = Object.entries(types).map(([taskType, counts]) => ({ taskType, ...counts }));
    await out.list(
      swept.filter(({ seen }) => seen > 0),
      TYPES,
      'No stuck jobs.',
    );
  }
  for (const { taskType, error } of problems) await out.note(`${taskType ?? 'sweep'}: ${String(error)}`);
}

export const sweepCommands = [sweep];
