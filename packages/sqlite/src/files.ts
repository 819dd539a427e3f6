/** File operations outside SQLite: durable directories and the single-process lock. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { TidemarkError } from '@tidemark/core';
import { isBusy } from './errors.ts';
import { DatabaseSync } from './node-sqlite.ts';

/** Makes new file names in a directory durable. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Creates an empty file that only its owner can read, unless the file exists. SQLite treats an empty file as a new
 * database, and gives its WAL and shared memory the same permissions.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // Exists already, or SQLite will report why it cannot be created.
  }
}

/** Earlier versions of SQLite can damage a WAL that two processes write (the WAL-reset bug). */
const FIRST_SAFE_VERSION = [3, 51, 3] as const;

/** Whether several processes may safely open one file. */
export function allowsSeveralProcesses(version: string): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, least] of FIRST_SAFE_VERSION.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

export interface ProcessLock {
  release(): void;
}

/**
 * On SQLite versions with the WAL-reset bug, takes a lock that excludes a second process. It is released when the
 * process ends.
 */
export function holdSingleProcessLock(path: string, version = process.versions.sqlite ?? '0'): ProcessLock | null {
  if (allowsSeveralProcesses(version)) return null;
  makePrivateFile(`${path}-lock`);
  const lock = new DatabaseSync(`${path}-lock`);
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new TidemarkError(
      'UNSUPPORTED',
      `${path} is open in another process, and SQLite ${version} in this Node can damage a file that two processes write: use Node 22.23, 24.21 or newer, or close the other process`,
    );
  }
  return { release: () => lock.close() };
}
