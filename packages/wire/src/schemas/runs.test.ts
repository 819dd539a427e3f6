import { EVENT_FIELDS, type EventField, RUN_STATUSES } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { RunEvent, RunEventRecord, RunSummary } from './runs.ts';

/** The parts of an object schema that its contract type hides. */
interface ObjectSchema {
  properties: Record<string, { type?: string; enum?: string[] }>;
  required: string[];
}

const [input, record, summary] = [RunEvent, RunEventRecord, RunSummary] as unknown as [
  ObjectSchema,
  ObjectSchema,
  ObjectSchema,
];

const fields: [string, EventField][] = Object.entries(EVENT_FIELDS).filter(([, field]) => !('internal' in field));
const sent = fields.filter(([, { part }]) => part !== 'store');

const namesOf = (list: typeof fields) => list.map(([name]) => name);
const required = (list: typeof fields) => namesOf(list.filter(([, { optional }]) => !optional)).sort();

describe('the schema of events', () => {
  it('has the fields of the table', () => {
    expect(Object.keys(input.properties)).toEqual(expect.arrayContaining(namesOf(sent)));
    expect(Object.keys(record.properties)).toEqual(expect.arrayContaining(namesOf(fields)));
  });

  it('requires the run and the type of an event to append, and all required fields of a stored event', () => {
    expect([...input.required].sort()).toEqual(['eventType', 'runId']);
    expect([...record.required].sort()).toEqual(required(fields));
  });

  it('has numbers for integers, and text for ids and times', () => {
    // The store itself rejects numbers that are not integers.
    const number = expect.stringMatching(/^(number|integer)$/);
    const types = { uuid: 'string', id: 'string', time: 'string', instant: 'string', integer: number };
    const properties: Record<string, unknown> = record.properties;
    for (const [name, { type }] of fields) {
      if (!(type in types)) continue;
      expect(properties[name], name).toMatchObject({ type: types[type as keyof typeof types] });
    }
  });

  it('has every status of a run', () => {
    expect(summary.properties.status!.enum).toEqual(RUN_STATUSES);
  });
});
