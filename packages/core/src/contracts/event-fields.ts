/**
 * A table of the fields of an event. The types of events, the columns of SQL engines, exports, archives and the HTTP
 * schema derive from this table. Encoders on hot paths are written by hand in `runs/event-forms.ts`, which does not
 * compile if a field is missing there. Fields without an entry are stored together in `extra`.
 */
import type { JsonObject } from './common.ts';

/** The description of an event field. */
export interface EventField {
  /**
   * `run` identifies the run; `body` is sent by the producer and covered by the leaf; `store` is assigned by the store.
   */
  part: 'run' | 'body' | 'store';
  /**
   * `id` is a string of at most 512 bytes, `time` an RFC 3339 text, `object` a JSON object, `instant` a time that engines
   * store in milliseconds.
   */
  type: 'uuid' | 'id' | 'time' | 'integer' | 'object' | 'instant' | 'digest' | 'redaction';
  /** The field is absent or `null` if an event has no value. */
  optional?: true;
  /** The minimum of an integer. */
  min?: number;
  /** Stored and exported, but not a member of the events that callers send and read. */
  internal?: true;
}

/** All event fields, in the order in which archives write their columns. */
export const EVENT_FIELDS = {
  tenantId: { part: 'run', type: 'id' },
  runId: { part: 'run', type: 'id' },
  /** The position in the run: 1, 2, 3 … in the order of commits. */
  runSeq: { part: 'store', type: 'integer', min: 1 },
  /** UUID version 4. */
  eventId: { part: 'body', type: 'uuid' },
  /** Any name. The eleven lifecycle types change the snapshot. */
  eventType: { part: 'body', type: 'id' },
  /** The producer's clock: RFC 3339 UTC. Returned as the exact text that was sent. */
  emittedAt: { part: 'body', type: 'time' },
  /** The store's clock: RFC 3339 UTC with milliseconds. Never decreases within a run. */
  persistedAt: { part: 'store', type: 'instant' },
  projectId: { part: 'body', type: 'id' },
  environmentId: { part: 'body', type: 'id' },
  planId: { part: 'body', type: 'id' },
  planVersion: { part: 'body', type: 'id' },
  /** An integer of at least 1. 1 if the runtime does not count engine attempts. */
  engineAttemptId: { part: 'body', type: 'integer', min: 1 },
  /** An integer of at least 1. Part of the derived idempotency key, so each new attempt of a step needs a new value. */
  logicalAttemptId: { part: 'body', type: 'integer', min: 1 },
  /** An opaque key. A second event of the run with the same key is a duplicate of the first. */
  idempotencyKey: { part: 'body', type: 'id' },
  /** Required for the step types, forbidden for the run types of the lifecycle. */
  stepId: { part: 'body', type: 'id', optional: true },
  /** All other fields, as JSON text. */
  extra: { part: 'body', type: 'object', optional: true, internal: true },
  payload: { part: 'body', type: 'object', optional: true },
  /** The position in the commit: 1 for the first event, 2 for the second, … */
  commitIndex: { part: 'store', type: 'integer', min: 1, internal: true },
  /** The hash of the event and of all events before it in its run. */
  link: { part: 'store', type: 'digest', internal: true },
  /** Set if the payload was removed. Callers read it as `redacted`. */
  redaction: { part: 'store', type: 'redaction', optional: true, internal: true },
  /** The format of the chain in the event's commit. Absent for format 1. */
  chainFormat: { part: 'store', type: 'integer', min: 1, optional: true, internal: true },
  /** The life of the run that the event belongs to. Absent in the first life. */
  life: { part: 'store', type: 'integer', min: 2, optional: true, internal: true },
} as const satisfies Record<string, EventField>;

/** The type of the column that holds a field in tables for analysts, for each type of field. */
export const EVENT_COLUMN_TYPES = {
  id: 'text',
  uuid: 'text',
  time: 'time',
  instant: 'time',
  integer: 'integer',
  object: 'json',
  digest: 'text',
  redaction: 'json',
} as const satisfies Record<EventField['type'], string>;

type Table = typeof EVENT_FIELDS;

/** The names of fields whose entries match. */
type Named<Match> = { [K in keyof Table]: Table[K] extends Match ? K : never }[keyof Table];

/** The name of an event field. */
export type EventFieldName = keyof Table;
type Internal = Named<{ internal: true }>;
type Optional = Named<{ optional: true }>;

/** Fields that a producer sends and that the leaf covers. */
export type BodyField = Named<{ part: 'body' }>;

/** Fields that are stored with an event, except its run. */
export type StoredField = Exclude<EventFieldName, Named<{ part: 'run' }>>;

/** Fields that callers send. */
export type SentField = Exclude<Named<{ part: 'run' | 'body' }>, Internal>;

/** Fields that callers read. */
export type ReadField = Exclude<EventFieldName, Internal>;

/** An object of fields. `Values` maps each type of field to its value type; optional fields may be `null`. */
export type EventFieldsAs<Name extends EventFieldName, Values extends Record<Table[Name]['type'], unknown>> = {
  -readonly [K in keyof Table as K extends Name ? K : never]: Table[K]['type'] extends keyof Values
    ? Values[Table[K]['type']] | (K extends Optional ? null : never)
    : never;
};

/** The value type that callers send and read for each type of field. */
interface CallerValues {
  uuid: string;
  id: string;
  time: string;
  integer: number;
  object: JsonObject;
  instant: string;
}

/** Fields as callers send and read them. Optional fields may be absent. */
export type CallerFields<Name extends ReadField> = EventFieldsAs<Exclude<Name, Optional>, CallerValues> & {
  -readonly [K in keyof Table as K extends Name & Optional ? K : never]?: CallerValues[Table[K]['type'] &
    keyof CallerValues];
};

/** The names of all fields, in the order of the table. */
export const EVENT_FIELD_NAMES = /* @__PURE__ */ Object.keys(EVENT_FIELDS) as EventFieldName[];

/** The names of the fields that callers read. */
export const READ_FIELDS = /* @__PURE__ */ EVENT_FIELD_NAMES.filter(
  (name): name is ReadField => !('internal' in EVENT_FIELDS[name]),
);

/** The names of the fields that callers send. */
export const SENT_FIELDS = /* @__PURE__ */ READ_FIELDS.filter(
  (name): name is SentField => EVENT_FIELDS[name].part !== 'store',
);

type Present<Fields> = { [K in keyof Fields as null extends Fields[K] ? never : K]: Fields[K] } & {
  [K in keyof Fields as null extends Fields[K] ? K : never]?: NonNullable<Fields[K]>;
};

/**
 * Returns the fields without those that are `null`. Stored events have `null` where events of callers have no member.
 */
export function presentFields<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Present<Fields>;
}
