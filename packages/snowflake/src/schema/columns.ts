/** The columns of the event log in Snowflake, and how a page of JSON becomes rows. */
import { EVENT_FIELDS, type EventFieldName, type JsonObject, type RunEventRecord } from '@tidemark/core';
import { EVENT_COLUMN_TYPES } from '@tidemark/core/engine';

type ColumnKind = 'text' | 'integer' | 'time' | 'boolean' | 'json';

export interface Column {
  name: string;
  kind: ColumnKind;
  /** Whether it is part of the key of an event. */
  isKey?: true;
  required?: true;
}

const SQL_TYPES: Record<ColumnKind, string> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  time: 'TIMESTAMPTZ',
  boolean: 'BOOLEAN',
  json: 'VARIANT',
};

const KEY = new Set(['TENANT_ID', 'RUN_ID', 'LIFE', 'RUN_SEQ']);

/** The members of an event that have their own columns, except JSON. */
const MEMBERS = (Object.keys(EVENT_FIELDS) as EventFieldName[]).filter(
  (name) => !('internal' in EVENT_FIELDS[name]) && name !== 'payload',
);

/** The columns that are loaded from a page. `VERSION` and `LOADED_AT` are added by the statement. */
export const LOADED_COLUMNS: readonly Column[] = [
  ...MEMBERS.map((member): Column => {
    const name = columnName(member);
    const field = EVENT_FIELDS[member];
    return {
      name,
      kind: EVENT_COLUMN_TYPES[field.type],
      ...(KEY.has(name) ? { isKey: true as const } : {}),
      ...('optional' in field ? {} : { required: true as const }),
    };
  }),
  { name: 'LIFE', kind: 'integer', isKey: true, required: true },
  { name: 'PAYLOAD', kind: 'json' },
  { name: 'PAYLOAD_TEXT', kind: 'text' },
  { name: 'EXTRA', kind: 'json' },
  { name: 'EXTRA_TEXT', kind: 'text' },
  { name: 'ERROR_CODE', kind: 'text' },
  { name: 'ERROR_MESSAGE', kind: 'text' },
  { name: 'ERROR_RETRYABLE', kind: 'boolean' },
  { name: 'REDACTED', kind: 'json' },
];

/** Columns that a redaction empties. */
export const PAYLOAD_COLUMNS = ['PAYLOAD', 'PAYLOAD_TEXT', 'ERROR_CODE', 'ERROR_MESSAGE', 'ERROR_RETRYABLE'];

export const KEY_COLUMNS = ['TENANT_ID', 'RUN_ID', 'LIFE', 'RUN_SEQ'] as const;

/** Columns of the log that views pass on. */
export const VISIBLE_COLUMNS = LOADED_COLUMNS.map(({ name }) => name);

export function columnDefinition({ name, kind, required }: Column): string {
  return `${name} ${SQL_TYPES[kind]}${required ? ' NOT NULL' : ''}`;
}

/** Returns the expression that reads a column from one element of a page. */
export function columnSource({ name, kind }: Column, element: string): string {
  const value = `GET_PATH(${element}, '${name.toLowerCase()}')`;
  if (kind === 'json') return `PARSE_JSON(${value}::VARCHAR) AS ${name}`;
  if (kind === 'time') return `TO_TIMESTAMP_TZ(${value}::BIGINT, 3) AS ${name}`;
  return `${value}::${SQL_TYPES[kind]} AS ${name}`;
}

/** An event as an element of a page: the columns in lower case. Times are milliseconds, JSON is text. */
export type PageRow = Record<string, string | number | boolean>;

/** Matches JSON text with characters that Snowflake's VARIANT may not preserve: NUL and lone surrogates. */
const UNSAFE_JSON = /\\u(0000|d[89a-f])/i;
const UNSAFE_TEXT = /\0/g;

export function pageRow(event: RunEventRecord, life: number): PageRow {
  const row: PageRow = { life };
  const { payload, redacted, ...rest } = event;
  const extra: JsonObject = {};
  for (const [member, value] of Object.entries(rest)) {
    if (value === undefined || value === null) continue;
    const field = EVENT_FIELDS[member as EventFieldName];
    if (!Object.hasOwn(EVENT_FIELDS, member) || 'internal' in field) extra[member] = value as never;
    else
      row[columnName(member).toLowerCase()] =
        EVENT_COLUMN_TYPES[field.type] === 'time' ? Date.parse(value as string) : (value as string);
  }
  addJson(row, 'payload', payload);
  addJson(row, 'extra', Object.keys(extra).length === 0 ? undefined : extra);
  if (redacted) row.redacted = JSON.stringify(redacted);
  if (event.eventType === 'RunFailed' || event.eventType === 'StepFailed') addError(row, payload);
  return row;
}

function addJson(row: PageRow, name: 'payload' | 'extra', value: unknown): void {
  if (value === undefined || value === null) return;
  const text = JSON.stringify(value);
  row[UNSAFE_JSON.test(text) ? `${name}_text` : name] = text;
}

/** Reads the fields of a failure as snapshots do. */
function addError(row: PageRow, payload: JsonObject | undefined): void {
  const { errorCode, errorMessage, retryable } = payload ?? {};
  if (typeof errorCode === 'string') row.error_code = safeText(errorCode);
  if (typeof errorMessage === 'string') row.error_message = safeText(errorMessage);
  if (typeof retryable === 'boolean') row.error_retryable = retryable;
}

function safeText(text: string): string {
  return text.toWellFormed().replace(UNSAFE_TEXT, '\uFFFD');
}

function columnName(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
