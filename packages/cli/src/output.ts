/**
 * What a command has to say, on stdout and in the form that was asked for: a table on a terminal, JSON lines in a pipe.
 * Notes go to stderr, so that stdout is data and nothing else.
 */
import { type CellValue, cellOf, type TimeStyle } from './cells.ts';
import { type Io, wantsColour } from './io.ts';
import { type Cell, printable, renderLine, renderTable, type TableStyle } from './table.ts';

export const OUTPUT_FORMS = ['table', 'json', 'jsonl', 'id'] as const;
export type OutputForm = (typeof OUTPUT_FORMS)[number];

export interface Column<T> {
  title: string;
  of: (row: T) => CellValue;
  /** How wide it is while rows are still to come. */
  width?: number;
}

/** How rows of a kind are shown. */
export interface View<T> {
  columns: readonly Column<T>[];
  id: (row: T) => string;
  /** The row as JSON, where it is not JSON itself. */
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

  /** A list that has an end; `empty` is noted when there is nothing. */
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

  /** A list without an end: each row is shown as it comes, JSON as lines. */
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

  /** One thing: in a table, a line for each of its columns that says something. */
  async show<T>(row: T, view: View<T>): Promise<void> {
    if (this.form !== 'table') {
      await this.#write(this.form === 'json' ? `${this.#json(row, view)}\n` : this.#line(row, view));
      return;
    }
    const now = Date.now();
    const lines = view.columns
      .map(({ title, of }): Cell[] => [{ text: title, colour: 'dim' }, cellOf(of(row), this.#times, now)])
      .filter(([, cell]) => cell!.text !== '');
    const width = Math.max(0, ...lines.map(([title]) => title!.text.length));
    for (const cells of lines) {
      // Of a single thing nothing is cut: it was asked for.
      await this.#write(`${renderLine(cells, [width], { colours: this.#style.colours })}\n`);
    }
  }

  /** What was done, or with a dry run would have been: a few facts by name. */
  async report(facts: Record<string, unknown>, id = ''): Promise<void> {
    const columns = Object.keys(facts).map((title) => ({ title, of: () => plain(facts[title]) }));
    await this.show(facts, { columns, id: () => id });
  }

  /** Text or bytes that are the data themselves. */
  async raw(chunk: string | Uint8Array): Promise<void> {
    await this.#io.stdout.write(chunk);
  }

  /** Something to know that is not data. */
  async note(text: string): Promise<void> {
    await this.#io.stderr.write(`${printable(text)}\n`);
  }

  #cells<T>(row: T, view: View<T>, now: number): Cell[] {
    return view.columns.map(({ of }) => cellOf(of(row), this.#times, now));
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
