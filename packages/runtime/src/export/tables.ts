/** The tables of an export and their columns, with the names and types that analysts query. */
import {
  EVENT_FIELDS,
  type EventFieldName,
  type JsonObject,
  type RunEventRecord,
  type RunSummary,
} from '@tidemark/core';
import { EVENT_COLUMN_TYPES } from '@tidemark/core/engine';

/** `json` is JSON text. `time` is a time in milliseconds. */
export type ColumnType = 'text' | 'integer' | 'time' | 'json';

/** A column of an exported table. */
export interface ExportColumn {
  /** In snake case, such as `run_seq`. */
  name: string;
  type: ColumnType;
  /** Whether rows may have `null`. */
  optional: boolean;
}

/** A row: the value of each column. Times are `Date` objects, integers are numbers, and all other values are texts. */
export type ExportRow = Record<string, string | number | Date | null>;

/** A table of an export, with its columns in order. */
export interface ExportTable {
  name: 'events' | 'runs';
  columns: readonly ExportColumn[];
}

/** A column, and the member of the exported object that it contains. */
interface Field extends ExportColumn {
  member: string;
}

const EVENT_COLUMNS: readonly Field[] = Object.entries(EVENT_FIELDS)
  .filter(([, field]) => !('internal' in field))
  .map(([member, field]) => ({
    member,
    name: snakeCase(member),
    type: EVENT_COLUMN_TYPES[field.type],
    optional: 'optional' in field,
  }));

/** All other members of an event: labels, trace context, redaction and fields of the application. */
const OTHERS: ExportColumn = { name: 'others', type: 'json', optional: true };

const text = (member: string, optional = false): Field => ({ member, name: snakeCase(member), type: 'text', optional });

const RUN_COLUMNS: readonly Field[] = [
  ...['tenantId', 'runId', 'projectId', 'environmentId', 'planId', 'planVersion', 'status'].map((it) => text(it)),
  { member: 'lastEventSeq', name: 'last_event_seq', type: 'integer', optional: false },
  { member: 'createdAt', name: 'created_at', type: 'time', optional: false },
  { member: 'updatedAt', name: 'updated_at', type: 'time', optional: false },
  { member: 'labels', name: 'labels', type: 'json', optional: false },
  text('parentRunId', true),
];

export const EVENTS: ExportTable = { name: 'events', columns: [...EVENT_COLUMNS.map(columnOf), OTHERS] };
export const RUNS: ExportTable = { name: 'runs', columns: RUN_COLUMNS.map(columnOf) };

export function eventRow(event: RunEventRecord): ExportRow {
  const row = rowOf(EVENT_COLUMNS, event as unknown as JsonObject);
  const known = new Set(EVENT_COLUMNS.map(({ member }) => member));
  const others = Object.entries(event).filter(([member, value]) => !known.has(member) && value !== undefined);
  row[OTHERS.name] = others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
  return row;
}

export function runRow(run: RunSummary): ExportRow {
  return rowOf(RUN_COLUMNS, run as unknown as JsonObject);
}

function rowOf(fields: readonly Field[], object: JsonObject): ExportRow {
  return Object.fromEntries(fields.map(({ member, name, type }) => [name, columnValue(type, object[member])]));
}

function columnValue(type: ColumnType, value: unknown): ExportRow[string] {
  if (value === undefined || value === null) return null;
  if (type === 'json') return JSON.stringify(value);
  return type === 'time' ? new Date(value as string) : (value as string | number);
}

function columnOf({ name, type, optional }: Field): ExportColumn {
  return { name, type, optional };
}

function snakeCase(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
