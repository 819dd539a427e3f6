/** Changes a file with the triggers dropped, then recreates them. */
import { DatabaseSync } from 'node:sqlite';

/** Returns how many rows the statement changed. */
export function alter(path: string, sql: string): number {
  const database = new DatabaseSync(path);
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
  const { changes } = database.prepare(sql).run();
  for (const trigger of triggers) database.exec(String(trigger.sql));
  database.close();
  return Number(changes);
}
