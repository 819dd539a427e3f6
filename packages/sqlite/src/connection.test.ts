/** Prepared statements of a connection. */
import { constants } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openConnection } from './connection.ts';

it.each(['all', 'allArrays'] as const)('compiles a statement once, whatever its limit, with %s', (read) => {
  const connection = openConnection(':memory:', { clock: Date.now });
  try {
    connection.database.exec('CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)');
    let compiled = 0;
    connection.database.setAuthorizer((action) => {
      if (action === constants.SQLITE_SELECT) compiled++;
      return constants.SQLITE_OK;
    });
    const counts = [1, 2, 3].map(
      (limit) => connection[read]('SELECT a FROM t ORDER BY a LIMIT ? OFFSET ?', limit, 1).length,
    );
    expect(counts).toEqual([1, 2, 2]);
    expect(compiled).toBe(1);
  } finally {
    connection.close();
  }
});
