/**
 * Exports events and runs to files for analysts, in constant memory. An interrupted export continues from its last
 * complete file. A finished export continues with the data stored after it.
 */
import { invalidArgument, type Store } from '@tidemark/core';
import { timeText } from '@tidemark/core/engine';
import type { ArchiveTarget } from '../archive/target.ts';
import { type ExportFormat, JSON_LINES } from './format.ts';
import { type ExportSelection, ListKeeper, type TablePosition } from './list.ts';
import { EVENTS, type ExportRow, type ExportTable, eventRow, RUNS, runRow } from './tables.ts';

const DEFAULT_ROWS = 100_000;
/** The number of characters after which the next file begins, even if it has few rows. */
const MAX_FILE_CHARACTERS = 256 * 1024 * 1024;
const PAGE = 500;

/** Options of `exportTables`. */
export interface ExportOptions extends ExportSelection {
  store: Store;
  /** Where to write the files: `directoryTarget(…)`, or a bucket. Each export needs its own target. */
  target: ArchiveTarget;
  /** Default: JSON lines. */
  format?: ExportFormat;
  /** Default: both. */
  tables?: readonly ExportTable['name'][];
  /** The maximum number of rows per file. Default 100 000. */
  rowsPerFile?: number;
  /** Stops after the file in progress. */
  signal?: AbortSignal;
  /** Called after every page. */
  onProgress?: (report: ExportReport) => void;
}

/** The rows and files that one call wrote. */
export interface ExportReport {
  events: number;
  runs: number;
  files: number;
}

/** Rows, and where to continue after them. */
interface RowPage {
  rows: ExportRow[];
  position: TablePosition;
}

/**
 * Exports the data that was stored since the last export to the same target. Each event has one row, except that events
 * of a restored run have further rows, because the feed delivers them again. A run has a row for each time that it was
 * exported after a change.
 *
 * @throws `INVALID_ARGUMENT` if the target already has an export with another selection or format. `CONFLICT` if
 *   another export writes to the target. Also the errors of the store and of the target.
 *
 * @example
 * const target = directoryTarget('./export');
 * const { events } = await exportTables({ store, target, tenantId: 'acme', since: '2026-01-01T00:00:00Z' });
 */
export async function exportTables(options: ExportOptions): Promise<ExportReport> {
  const { store, target, format = JSON_LINES, tables = ['events', 'runs'], rowsPerFile = DEFAULT_ROWS } = options;
  if (!Number.isSafeInteger(rowsPerFile) || rowsPerFile < 1)
    throw invalidArgument('rowsPerFile', 'an integer of at least 1');
  const selection = {
    tenantId: options.tenantId ?? store.info.tenantId,
    since: checkTime(options.since, 'since'),
    until: checkTime(options.until, 'until'),
  };
  const keeper = await ListKeeper.open(target, format.extension, selection);
  const report: ExportReport = { events: 0, runs: 0, files: 0 };
  const writing: Writing = { options, format, rowsPerFile, selection, keeper, report };
  for (const name of tables) {
    const table = name === 'events' ? EVENTS : RUNS;
    const from = keeper.list.positions[name] ?? {};
    const pages = name === 'events' ? eventPages(store, selection, from) : runPages(store, selection, from);
    await writeTable(writing, table, pages);
    if (options.signal?.aborted) break;
  }
  return report;
}

interface Writing {
  options: ExportOptions;
  format: ExportFormat;
  rowsPerFile: number;
  selection: ExportSelection;
  keeper: ListKeeper;
  report: ExportReport;
}

async function writeTable(
  { options, format, rowsPerFile, keeper, report }: Writing,
  table: ExportTable,
  pages: AsyncGenerator<RowPage, void, undefined>,
): Promise<void> {
  let isAtEnd = false;
  try {
    while (!isAtEnd && !options.signal?.aborted) {
      let [rows, characters] = [0, 0];
      let position: TablePosition | undefined;
      const next = async (): Promise<ExportRow[] | null> => {
        for (;;) {
          const page = await pages.next();
          if (page.done) {
            isAtEnd = true;
            return null;
          }
          position = page.value.position;
          if (page.value.rows.length > 0) return page.value.rows;
        }
      };
      const first = await next();
      if (first === null) {
        if (position) await keeper.save(table.name, position);
        return;
      }
      const content = async function* () {
        for (let page: ExportRow[] | null = first; page !== null; ) {
          rows += page.length;
          for (const row of page) characters += sizeOf(row);
          report[table.name] += page.length;
          options.onProgress?.({ ...report });
          yield page;
          // A page is never divided, so that the position after it is a cursor of the store.
          const isFull = rows + PAGE > rowsPerFile || characters > MAX_FILE_CHARACTERS || options.signal?.aborted;
          page = isFull ? null : await next();
        }
      };
      const name = `${table.name}/${Date.now().toString(36).padStart(9, '0')}-${crypto.randomUUID()}.${format.extension}`;
      await options.target.put(name, format.encode(table, content()));
      await keeper.save(table.name, position!, { name, table: table.name, rows });
      report.files++;
    }
  } finally {
    await pages.return();
  }
}

function sizeOf(row: ExportRow): number {
  let size = 0;
  for (const value of Object.values(row)) size += typeof value === 'string' ? value.length : 8;
  return size;
}

async function* eventPages(
  store: Store,
  { tenantId, since = '', until = '~' }: ExportSelection,
  { cursor: from }: TablePosition,
): AsyncGenerator<RowPage, void, undefined> {
  const filter = tenantId === undefined ? {} : { filter: { tenantId } };
  for (let cursor = from; ; ) {
    const { items, next } = await store.runs.feedPage({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
    // All times have the same number of digits, so they can be compared as texts.
    const chosen = items.filter(({ event }) => event.persistedAt >= since && event.persistedAt < until);
    if (next === undefined) return;
    yield { rows: chosen.map(({ event }) => eventRow(event)), position: { cursor: next } };
    if (next === cursor) return;
    cursor = next;
  }
}

/**
 * Yields the runs whose last event was stored after the last pass began. A run that changes during a pass may have been
 * listed before, so the next pass lists it again.
 */
async function* runPages(
  store: Store,
  { tenantId, since, until }: ExportSelection,
  from: TablePosition,
): AsyncGenerator<RowPage, void, undefined> {
  const passBegan = from.cursor === undefined ? timeText(Date.now() - CLOCK_SLACK_MS) : from.passBegan!;
  const updatedAfter = from.passSince ?? since;
  const filter = {
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(updatedAfter === undefined ? {} : { updatedAfter }),
    ...(until === undefined ? {} : { updatedBefore: until }),
  };
  for (let cursor = from.cursor; ; ) {
    const options = { ...filter, order: 'oldest' as const, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { items, next } = await store.runs.listRuns(options);
    const later = { passBegan, ...(from.passSince === undefined ? {} : { passSince: from.passSince }) };
    const position = next === undefined ? { passSince: passBegan } : { cursor: next, ...later };
    yield { rows: items.map(runRow), position };
    if (next === undefined) return;
    cursor = next;
  }
}

/**
 * The store's clock and this machine's clock may differ by this much. Runs that changed within this time are exported
 * twice.
 */
const CLOCK_SLACK_MS = 60_000;

function checkTime(time: string | undefined, field: string): string | undefined {
  if (time === undefined) return undefined;
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) throw invalidArgument(field, 'a time such as 2026-02-16T09:30:00Z', time);
  return timeText(at);
}
