/**
 * Loads `node:sqlite` without Node's warning that it is experimental, which some supported versions print. All other
 * warnings are kept. A static import would print this warning before any of our code runs.
 */
import type * as NodeSqlite from 'node:sqlite';
import { Worker } from 'node:worker_threads';

function load(): typeof NodeSqlite {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!/^SQLite is an experimental feature/.test(String(warning)))
      Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

export const { DatabaseSync } = load();
export type DatabaseSync = NodeSqlite.DatabaseSync;

/**
 * Starts a thread for a script that uses `node:sqlite`. The script is text, so that bundles need no second file. Only
 * the warnings of this thread about experimental features are hidden.
 */
export function sqliteThread(script: string, workerData: Record<string, unknown>): Worker {
  return new Worker(script, { eval: true, workerData, execArgv: ['--disable-warning=ExperimentalWarning'] });
}
