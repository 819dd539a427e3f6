/**
 * Checks the whole file with SQLite's integrity check, in a separate thread, because it reads every page and the
 * process should stay responsive.
 */
import type { DoctorFinding } from '@tidemark/core';
import { sqliteThread } from './node-sqlite.ts';

const MAX_PROBLEMS = 10;

/** The script of the thread. It opens a read-only connection, as another process would. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData.path, { readOnly: true });
const rows = database.prepare('PRAGMA integrity_check(' + workerData.most + ')').all();
database.close();
parentPort.postMessage(rows.map((row) => String(Object.values(row)[0])));`;

export async function checkIntegrity(path: string): Promise<DoctorFinding> {
  const check = 'integrity_check';
  const fix = 'Restore the file from a backup';
  try {
    const lines = await linesOf(path);
    if (lines.length === 1 && lines[0] === 'ok')
      return { check, status: 'ok', message: 'every page and index is well-formed' };
    return { check, status: 'fail', message: lines.join('; '), fix };
  } catch (error) {
    return { check, status: 'fail', message: (error as Error).message, fix };
  }
}

function linesOf(path: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = sqliteThread(THREAD, { path, most: MAX_PROBLEMS });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => reject(new Error('The check of the file stopped')));
  });
}
