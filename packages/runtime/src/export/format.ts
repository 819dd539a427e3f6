/** File formats of exports. JSON lines are built in. */
import type { ExportRow, ExportTable } from './tables.ts';

/** Encodes the rows of one file. */
export interface ExportFormat {
  /** The name of the format and the extension of its files, such as `jsonl`. */
  readonly extension: string;
  encode(table: ExportTable, pages: AsyncIterable<readonly ExportRow[]>): AsyncIterable<Uint8Array>;
}

/**
 * One JSON object per row. JSON columns are objects, and times are RFC 3339 texts.
 *
 * @example
 * await exportTables({ store, target: directoryTarget('exported'), format: JSON_LINES });
 */
export const JSON_LINES: ExportFormat = {
  extension: 'jsonl',
  async *encode({ columns }, pages) {
    for await (const rows of pages) {
      const lines = rows.map((row) => {
        const members = columns.map(({ name, type }) => {
          const value = row[name] ?? null;
          return `${JSON.stringify(name)}:${type === 'json' && value !== null ? value : JSON.stringify(value)}`;
        });
        return `{${members.join(',')}}\n`;
      });
      yield Buffer.from(lines.join(''));
    }
  },
};
