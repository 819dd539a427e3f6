/**
 * Prints the data of a command to stdout in the chosen form: by default a table on a terminal and JSON lines in a pipe.
 * Notes go to stderr, so that stdout holds only data.
 */
import { type CellValue, type TimeStyle, toCell } from './cells.ts';
import { type Io, wantsColour } from './io.ts';
import { type Cell, printable, renderLine, renderTable, type TableStyle } from './table.ts';

export const OUTPUT_FORMS = ['table', 'json', 'jsonl', 'id'] as const;
export type OutputForm = (typeof OUTPUT_FORMS)[number];

export interface Column<T> {
  title: string;
  of: (row: T) => CellValue;
  /** The width of the column when rows are printed one by one. */
  width?: number;
}

/** How to show rows of one type. */
export interface View<T> {
  columns: readonly Column<T>[];
  id: (row: T) => string;
  /** Converts a row to JSON; by default the row itself is printed. */
  json?: (row: T) => unknown;
}

const FOLLOWED_WIDTH = 12;

export class Output {
  readonly form: OutputForm;
  readonly #io: Io;
  readonly #times: TimeStyle;
  readonly #style: TableStyle;

  constructor(io: Io, settings: { form?: OutputForm | undefined; times: TimeStyle }) {
    this.#io = io;
    this.form = settings.form ?? (io.stdout.isTerminal ? 'table' : 'jsonl');
    this.#times = settings.times;
    this.#style = {
      colours: wantsColour(io.stdout, io.env),
      ...(io.stdout.isTerminal ? { width: io.stdout.columns } : {}),
    };
  }

  /** Prints a finite list; prints the note `empty` when it has no rows. */
  async list<T>(rows: Iterable<T> | AsyncIterable<T>, view: View<T>, empty: string): Promise<number> {
    const cells: Cell[][] = [];
    const now = Date.now();
    let count = 0;
    for await (const row of rows) {
      if (this.#io.signal.aborted) break;
      if (this.form === 'table') cells.push(this.#cells(row, view, now));
      else
        await this.#write(
          this.form === 'json' ? `${count === 0 ? '[' : ','}\n${this.#json(row, view)}` : this.#line(row, view),
        );
      count++;
    }
    if (this.form === 'json') await this.#write(count === 0 ? '[]\n' : '\n]\n');
    if (cells.length > 0) {
      const titles = view.columns.map(({ title }) => title);
      await this.#write(`${renderTable(titles, cells, this.#style).join('\n')}\n`);
    }
    if (count === 0) await this.note(empty);
    return count;
  }

  /** Prints an endless list. Prints each row when it arrives, as a table or as JSON lines. */
  async follow<T>(rows: AsyncIterable<T>, view: View<T>): Promise<void> {
    const widths = view.columns.map(({ width, title }) => Math.max(width ?? FOLLOWED_WIDTH, title.length));
    let isFirst = true;
    for await (const row of rows) {
      if (this.form !== 'table') {
        await this.#write(this.#line(row, view));
        continue;
      }
      if (isFirst) {
        const titles = view.columns.map(({ title }): Cell => ({ text: title, colour: 'dim' }));
        await this.#write(`${renderLine(titles, widths, this.#style)}\n`);
      }
      isFirst = false;
      await this.#write(`${renderLine(this.#cells(row, view, Date.now()), widths, this.#style)}\n`);
    }
  }

  /** Prints one row. As a table, prints one line per column that is not empty. */
  async show<T>(row: T, view: View<T>): Promise<void> {
    if (this.form !== 'table') {
      await this.#write(this.form === 'json' ? `${this.#json(row, view)}\n` : this.#line(row, view));
      return;
    }
    const now = Date.now();
    const lines = view.columns
      .map(({ title, of }): Cell[] => [{ text: title, colour: 'dim' }, toCell(of(row), this.#times, now)])
      .filter(([, cell]) => cell!.text !== '');
    const width = Math.max(0, ...lines.map(([title]) => title!.text.length));
    for (const cells of lines) {
      // Lines of a single row are never cut to the terminal's width.
      await this.#write(`${renderLine(cells, [width], { colours: this.#style.colours })}\n`);
    }
  }

  /** Prints the result of an action, or of a dry run, as named values. */
  async report(facts: Record<string, unknown>, id = ''): Promise<void> {
    const columns = Object.keys(facts).map((title) => ({ title, of: () => plain(facts[title]) }));
    await this.show(facts, { columns, id: () => id });
  }

  /** Writes text or bytes to stdout unchanged. */
  async raw(chunk: string | Uint8Array): Promise<void> {
    await this.#io.stdout.write(chunk);
  }

  /** Prints a note to stderr. */
  async note(text: string): Promise<void> {
    await this.#io.stderr.write(`${printable(text)}\n`);
  }

  #cells<T>(row: T, view: View<T>, now: number): Cell[] {
    return view.columns.map(({ of }) => toCell(of(row), this.#times, now));
  }

  #json<T>(row: T, view: View<T>): string {
    const value = view.json ? view.json(row) : row;
    return this.#io.stdout.isTerminal ? JSON.stringify(value, null, 2) : JSON.stringify(value);
  }

  #line<T>(row: T, view: View<T>): string {
    return `${this.form === 'id' ? view.id(row) : JSON.stringify(view.json ? view.json(row) : row)}\n`;
  }

  #write(text: string): Promise<void> {
    return this.#io.stdout.write(text);
  }
}

function plain(value: unknown): CellValue {
  return typeof value === 'object' && value !== null ? { json: value } : (value as CellValue);
}
