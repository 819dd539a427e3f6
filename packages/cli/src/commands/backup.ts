/** `backup`: copies a SQLite store consistently while it is in use. */
import { existsSync } from 'node:fs';
import { TidemarkError } from '@tidemark/core';
import { defineCommand } from '../command.ts';
import { noFile } from '../failures.ts';
import { one } from '../options.ts';
import { sqliteFile } from '../target.ts';

const backup = defineCommand({
  name: 'backup',
  summary: 'Copy a SQLite store to a new file while it is in use',
  details:
    'Other engines have their own tools (pg_dump, BGSAVE, nats stream backup). `tidemark copy` copies everything from any store to any other.',
  effect: 'rw',
  args: { file: one('name of the new file') },
  examples: [
    { line: 'backup nightly.db', shows: '"file":"nightly.db"' },
    { line: 'backup nightly.db --dry-run', shows: '"would":"backup"' },
  ],
  async run({ out, args, settings, dryRun }) {
    const path = sqliteFile(settings.store);
    if (path === undefined)
      throw new TidemarkError(
        'UNSUPPORTED',
        'Only a SQLite store is one file; use the tools of the engine, or `tidemark copy`',
      );
    if (dryRun) return out.report({ dryRun: true, would: 'backup', from: path, file: args.file });
    if (!existsSync(path)) throw noFile(`The database file ${path} does not exist`);
    const { sqliteStore } = await import('@tidemark/sqlite');
    const opened = await sqliteStore(path);
    try {
      await opened.backup(args.file);
    } finally {
      await opened.close();
    }
    await out.report({ from: path, file: args.file }, args.file);
  },
});

export const backupCommands = [backup];
