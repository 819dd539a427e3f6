/**
 * The list of an export: the selection, the complete files, and the positions from which to continue. A file counts
 * only once it is listed, so an export that was killed continues without duplicate or missing rows.
 */
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { type ArchiveTarget, readText, writeText } from '../archive/target.ts';
import type { ExportTable } from './tables.ts';

/** The name ends with a suffix of files that a target may replace. */
const LIST = 'export.manifest.json';
const FORMAT = 'tidemark-export-1';

/** The selection of an export. */
export interface ExportSelection {
  /** Only this tenant. */
  tenantId?: string | undefined;
  /** Selects events stored at or after this time, and runs whose last event was stored at or after it. RFC 3339. */
  since?: string | undefined;
  /** Selects events stored before this time, and runs whose last event was stored before it. RFC 3339. */
  until?: string | undefined;
}

export interface ExportFile {
  name: string;
  table: ExportTable['name'];
  rows: number;
}

/** The position from which the export of a table continues. */
export interface TablePosition {
  /** The cursor of the feed, or of the list of runs during a pass over it. */
  cursor?: string;
  /** For runs: when the pass in progress began, and the time from which the next pass selects. */
  passBegan?: string;
  passSince?: string;
}

export interface ExportList {
  format: typeof FORMAT;
  /** The extension of the files. */
  extension: string;
  selection: ExportSelection;
  files: ExportFile[];
  positions: Partial<Record<ExportTable['name'], TablePosition>>;
}

/** The list in a target, as this export last read or wrote it. */
export class ListKeeper {
  readonly #target: ArchiveTarget;
  #text: string | null;
  readonly list: ExportList;

  private constructor(target: ArchiveTarget, text: string | null, list: ExportList) {
    this.#target = target;
    this.#text = text;
    this.list = list;
  }

  /** Reads the list, or creates one. Removes files that an export wrote but did not list before it was killed. */
  static async open(target: ArchiveTarget, extension: string, selection: ExportSelection): Promise<ListKeeper> {
    const text = await readText(target, LIST);
    const list =
      text === null ? ({ format: FORMAT, extension, selection, files: [], positions: {} } as ExportList) : parse(text);
    expectSame('format', list.extension, extension);
    for (const name of ['tenantId', 'since', 'until'] as const) expectSame(name, list.selection[name], selection[name]);
    const listed = new Set(list.files.map(({ name }) => name));
    for (const table of ['events', 'runs'])
      for await (const name of target.list(`${table}/`)) if (!listed.has(name)) await target.delete(name);
    return new ListKeeper(target, text, list);
  }

  /** Lists a complete file, if one is given, and the position after it. */
  async save(table: ExportTable['name'], position: TablePosition, file?: ExportFile): Promise<void> {
    if ((await readText(this.#target, LIST)) !== this.#text)
      throw new TidemarkError(
        'CONFLICT',
        'Another export is writing to this target; use a separate target for each export',
      );
    this.list.positions[table] = position;
    if (file) this.list.files.push(file);
    this.#text = `${JSON.stringify(this.list, null, 1)}\n`;
    await writeText(this.#target, LIST, this.#text);
  }
}

function parse(text: string): ExportList {
  try {
    const list = JSON.parse(text) as ExportList;
    if (list.format === FORMAT) return list;
  } catch {
    // Reported below.
  }
  throw new TidemarkError('STORAGE_ERROR', `${LIST} is not the list of an export; choose another target`);
}

function expectSame(name: string, listed: string | undefined, given: string | undefined): void {
  if (listed === given) return;
  throw invalidArgument(
    name,
    `as in the export that it continues (${listed ?? 'none'}); choose another target for a new one`,
  );
}
