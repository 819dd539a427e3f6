/** Online backup: a consistent copy of the file while writers continue, made without blocking the event loop. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { copyArtifacts } from './backup-artifacts.ts';
import { makePrivateFile, syncDirectory } from './files.ts';
import { sqliteThread } from './node-sqlite.ts';

/** VACUUM INTO reads one snapshot and works on every SQLite version of a supported Node. */
const COPY = `
  const { workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(workerData.from, { readOnly: true });
  database.exec('PRAGMA busy_timeout = 5000');
  database.prepare('VACUUM INTO ?').run(workerData.to);
  database.close();`;

/** The directory for artifacts that are too large for a table. */
export function artifactsDirectory(path: string): string {
  return `${path}-artifacts`;
}

/** Copies the store at `from` to the new file `to`. The copy appears only once it is complete and synced. */
export async function backupFile(from: string, to: string): Promise<void> {
  const target = resolve(to);
  if (existsSync(target)) throw invalidArgument('to', 'the name of a file that does not exist yet', to);
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  makePrivateFile(unfinished);
  await runCopy(from, unfinished);
  await copyArtifacts(
    { database: from, directory: artifactsDirectory(from) },
    { database: unfinished, directory: artifactsDirectory(target) },
  );
  syncFile(unfinished);
  renameSync(unfinished, target);
  syncDirectory(dirname(target));
}

function runCopy(from: string, to: string): Promise<void> {
  return new Promise((done, failed) => {
    const worker = sqliteThread(COPY, { from, to });
    worker.once('error', (cause) =>
      failed(new TidemarkError('STORAGE_ERROR', `The backup to ${to} failed: ${cause}`, { cause })),
    );
    worker.once('exit', (code) =>
      code === 0 ? done() : failed(new TidemarkError('STORAGE_ERROR', `The backup to ${to} stopped`)),
    );
  });
}

function syncFile(path: string): void {
  const handle = openSync(path, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
