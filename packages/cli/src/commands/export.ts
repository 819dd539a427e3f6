/** `export`: writes events and runs to files for analysts, and continues where the last export ended. */
import { ARCHIVE_TARGET, openArchiveTarget } from '../archive-target.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choice, choicesOf, integer, moment, required, text, withDefault } from '../options.ts';

const FORMATS = ['parquet', 'jsonl'] as const;
const TABLES = ['events', 'runs'] as const;

const exportCommand = defineCommand({
  name: 'export',
  summary: 'Export events and runs to Parquet or JSON lines',
  details:
    'Writes files under events/ and runs/ of the target, and a list of complete files. Run it again to continue after an interruption, or to add the events stored since. Do not run two exports to the same target at once: one of them fails.',
  effect: 'ro',
  options: {
    to: required(text('target', ARCHIVE_TARGET.replace('archive', 'export'))),
    format: withDefault(choice(FORMATS, 'format of the files'), 'parquet'),
    table: choicesOf(TABLES, 'table', 'only this table'),
    since: moment('time', 'only events stored since then: a time, or how long ago'),
    until: moment('time', 'only events stored before then'),
    rowsPerFile: integer('rows', 'most rows per file (default 100000)', 1),
  },
  examples: [
    { line: 'export --to exported --format jsonl', shows: '"files":2' },
    { line: 'export --to exported-events --table events --tenant default', shows: '"runs":0' },
  ],
  async run({ store, settings, options, io, out, progress }) {
    const { exportTables, JSON_LINES } = await import('@tidemark/runtime');
    const format = options.format === 'jsonl' ? JSON_LINES : (await import('../parquet.ts')).PARQUET;
    const target = await openArchiveTarget(options.to);
    const bar = progress('exporting');
    const report = await exportTables({
      ...{ store: await store({ mustExist: true }), target, format },
      ...{ tenantId: settings.tenant, since: options.since, until: options.until },
      ...(options.table.length > 0 && { tables: options.table }),
      ...(options.rowsPerFile !== undefined && { rowsPerFile: options.rowsPerFile }),
      signal: io.signal,
      onProgress: ({ events, runs }) => bar.to(events + runs),
    });
    bar.end();
    await out.report({ ...report });
    return io.signal.aborted ? EXIT.interrupted : EXIT.ok;
  },
});

export const exportCommands = [exportCommand];
