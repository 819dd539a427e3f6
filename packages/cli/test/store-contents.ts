/** Returns the contents of a SQLite file as text, to check that a command wrote nothing. */
import { DatabaseSync } from 'node:sqlite';

/** Tables that readers write as a cache. */
const CACHES = ['run_snapshots'];

export function contentsOf(file: string): string {
  const database = new DatabaseSync(file);
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    const names = tables.map(({ name }) => String(name)).filter((name) => !CACHES.includes(name));
    const rows = names.map((name) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]);
    return JSON.stringify(rows, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    );
  } finally {
    database.close();
  }
}
