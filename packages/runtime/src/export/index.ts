/** Exports of events and runs for analysts. */
export { type ExportOptions, type ExportReport, exportTables } from './export.ts';
export { type ExportFormat, JSON_LINES } from './format.ts';
export type { ExportSelection } from './list.ts';
export type { ColumnType, ExportColumn, ExportRow, ExportTable } from './tables.ts';
