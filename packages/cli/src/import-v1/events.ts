/** Turns rows of a version 1 source into events to append. Columns may have the names of the table or of the JSON form. */
import {
  invalidArgument,
  isTidemarkError,
  type RunEventInput,
  type RunEventV1,
  type RunScope,
  upcastV1,
} from '@tidemark/core';
import type { SourceRow } from './sources.ts';

const REQUIRED = ['runId', 'eventId', 'eventType', 'idempotencyKey', 'emittedAt'] as const;
const JSON_FIELDS = ['eventData', 'engineRunRef'];
const UTC = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Returns the event of a row. Errors name the row and the field. */
export function eventOf({ position, fields }: SourceRow, scope: RunScope): RunEventInput {
  const event: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(fields)) {
    if (value === null) continue;
    const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    event[name] = JSON_FIELDS.includes(name) && typeof value === 'string' ? parsedOr(value) : value;
  }
  for (const name of REQUIRED) {
    if (typeof event[name] !== 'string' || event[name] === '')
      throw invalidArgument(`${name} of ${position}`, 'a string that is not empty', event[name]);
  }
  if (event.runSeq !== undefined) event.runSeq = Number(event.runSeq);
  event.emittedAt = utc(event.emittedAt as string, position);
  try {
    return upcastV1(event as unknown as RunEventV1, scope);
  } catch (error) {
    if (!isTidemarkError(error, 'INVALID_ARGUMENT')) throw error;
    throw invalidArgument(`${error.field} of ${position}`, error.rule ?? 'valid');
  }
}

/** SQLite stores JSON as text. If a string is not valid JSON, the text itself is the value. */
function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function utc(text: string, position: string): string {
  if (UTC.test(text)) return text;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw invalidArgument(`emittedAt of ${position}`, 'a time', text);
  return time.toISOString();
}
