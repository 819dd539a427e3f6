/**
 * Loads `node:sqlite` without Node's warning that it is experimental, which some supported versions print. All other
 * warnings stay. An import would print it before any code of ours runs.
 */
import type * as NodeSqlite from 'node:sqlite';

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
