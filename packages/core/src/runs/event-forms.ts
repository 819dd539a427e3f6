/**
 * Converts an event between its forms: checked, hashed, decoded for readers, exported, table row, journal entry. The
 * conversions are written out by hand because every event passes through them. A field that is in the table of
 * `contracts/event-fields.ts` and missing here is a compile error.
 */
import { decodeJson } from '../checks/json.ts';
import { checkInteger, checkTime, timeText } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { BodyField, ReadField, StoredField } from '../contracts/event-fields.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { ExportedEvent } from '../contracts/run-parts.ts';
import type { JournalEntry } from '../engine/journal.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { EventBody, PreparedEvent, StoredRedaction, StoredRunEvent } from '../engine/runs.ts';
import { type Digest, digestBase64, digestBytes, digestOf } from '../hash.ts';
import { isRunType, isStepType } from './transitions.ts';
import { UUID_V4 } from './upcast.ts';

/**
 * `unknown` when nothing is missing; otherwise a type that no value satisfies, so that the list or object does not
 * compile.
 */
type NoneMissing<Missing> = [Missing] extends [never] ? unknown : { missing: Missing };

/** Returns a function that returns its arguments and compiles only if they include every name of the union. */
function everyOf<Name extends string>() {
  return <const List extends readonly Name[]>(...names: List & NoneMissing<Exclude<Name, List[number]>>): List => names;
}

/** A tuple with one value for each name of the list. */
type ValuesOf<List extends readonly unknown[], Value> = { -readonly [At in keyof List]: Value };

// Checked

/** Checks the fields that are stored as sent. The caller fills in the key, extra, payload and leaf. */
export function checkedFields(it: Record<string, unknown>): PreparedEvent {
  const eventType = checkId(it.eventType, 'eventType');
  return {
    eventId: checkUuid(it.eventId),
    eventType,
    emittedAt: checkTime(it.emittedAt, 'emittedAt'),
    projectId: checkId(it.projectId, 'projectId'),
    environmentId: checkId(it.environmentId, 'environmentId'),
    planId: checkId(it.planId, 'planId'),
    planVersion: checkId(it.planVersion, 'planVersion'),
    engineAttemptId: checkInteger(it.engineAttemptId, 'engineAttemptId', 1),
    logicalAttemptId: checkInteger(it.logicalAttemptId, 'logicalAttemptId', 1),
    idempotencyKey: '',
    stepId: checkStep(it.stepId, eventType),
    extra: null,
    payload: null,
    leaf: '',
  };
}

function checkUuid(value: unknown): string {
  if (typeof value === 'string' && UUID_V4.test(value)) return value;
  throw invalidArgument('eventId', 'a version 4 UUID', value ?? null);
}

function checkStep(value: unknown, eventType: string): string | null {
  const stepId = value === undefined ? null : checkId(value, 'stepId');
  if (stepId === null && isStepType(eventType)) throw invalidArgument('stepId', `given for ${eventType}`);
  if (stepId !== null && isRunType(eventType)) throw invalidArgument('stepId', `absent for ${eventType}`, stepId);
  return stepId;
}

// Hashed

const LEAF_FORMAT = 'tidemark-leaf-1\n';

/** The fields of a leaf in format order. The tenant and run ids come before them, the payload's hash after them. */
export const LEAF_FIELDS = everyOf<Exclude<BodyField, 'payload'>>()(
  'eventId',
  'eventType',
  'emittedAt',
  'projectId',
  'environmentId',
  'planId',
  'planVersion',
  'engineAttemptId',
  'logicalAttemptId',
  'idempotencyKey',
  'stepId',
  'extra',
);

/**
 * Returns the text that is hashed into a leaf: the format's name, the tenant and run ids and each of `LEAF_FIELDS` as
 * `length:text` (length in UTF-8 bytes, `-` when absent), and the hex SHA-256 of the payload's JSON text.
 */
export function leafText(run: RunKey, event: EventBody, payloadHash: string): string {
  // One count of the whole text shows whether each field has as many bytes as characters.
  const text = leafTextWith(lengthOfAscii, run, event, payloadHash);
  return Buffer.byteLength(text) === text.length ? text : leafTextWith(Buffer.byteLength, run, event, payloadHash);
}

function leafTextWith(lengthOf: (text: string) => number, run: RunKey, event: EventBody, payloadHash: string): string {
  const lengthPrefixed = (text: string | null) => (text === null ? '-' : `${lengthOf(text)}:${text}`);
  return (
    LEAF_FORMAT +
    lengthPrefixed(run.tenantId) +
    lengthPrefixed(run.runId) +
    lengthPrefixed(event.eventId) +
    lengthPrefixed(event.eventType) +
    lengthPrefixed(event.emittedAt) +
    lengthPrefixed(event.projectId) +
    lengthPrefixed(event.environmentId) +
    lengthPrefixed(event.planId) +
    lengthPrefixed(event.planVersion) +
    lengthPrefixed(String(event.engineAttemptId)) +
    lengthPrefixed(String(event.logicalAttemptId)) +
    lengthPrefixed(event.idempotencyKey) +
    lengthPrefixed(event.stepId) +
    lengthPrefixed(event.extra) +
    payloadHash
  );
}

function lengthOfAscii(text: string): number {
  return text.length;
}

// Stored

/**
 * Returns the row of a placed event. Lists the members, because a rest pattern that omits the leaf costs as much as a
 * hash.
 */
export function storedEvent(
  event: PreparedEvent,
  runSeq: number,
  persistedAt: number,
  commitIndex: number,
  link: Digest,
  chainFormat: number | undefined,
  life: number | undefined,
): StoredRunEvent {
  const row = {
    eventId: event.eventId,
    eventType: event.eventType,
    emittedAt: event.emittedAt,
    projectId: event.projectId,
    environmentId: event.environmentId,
    planId: event.planId,
    planVersion: event.planVersion,
    engineAttemptId: event.engineAttemptId,
    logicalAttemptId: event.logicalAttemptId,
    idempotencyKey: event.idempotencyKey,
    stepId: event.stepId,
    extra: event.extra,
    payload: event.payload,
    runSeq,
    persistedAt,
    commitIndex,
    link,
    chainFormat,
    life,
  };
  return row satisfies NoneMissing<Exclude<StoredField, 'redaction' | keyof typeof row>>;
}

// Decoded for readers

/**
 * Returns the codec context of an event's payload. It uses the idempotency key, because an event that is not stored yet
 * has no sequence.
 */
export function payloadContext(
  { tenantId, runId }: RunKey,
  { idempotencyKey }: { idempotencyKey: string },
): PayloadContext {
  return { tenantId, kind: 'event', owner: runId, item: idempotencyKey };
}

/** Returns a stored event in the form that readers receive. Errors from decoding are not wrapped. */
export function decodedRecord(
  payloads: Payloads,
  run: RunKey,
  stored: Omit<StoredRunEvent, 'commitIndex' | 'link'>,
): RunEventRecord {
  const record = {
    eventId: stored.eventId,
    eventType: stored.eventType,
    emittedAt: stored.emittedAt,
    runId: run.runId,
    tenantId: run.tenantId,
    projectId: stored.projectId,
    environmentId: stored.environmentId,
    planId: stored.planId,
    planVersion: stored.planVersion,
    engineAttemptId: stored.engineAttemptId,
    logicalAttemptId: stored.logicalAttemptId,
    idempotencyKey: stored.idempotencyKey,
    ...(stored.stepId === null ? undefined : { stepId: stored.stepId }),
    ...(stored.payload === null
      ? undefined
      : { payload: payloads.decode<Record<string, unknown>>(stored.payload, payloadContext(run, stored)) }),
    ...(stored.extra === null ? undefined : decodeJson<object>(stored.extra)),
    runSeq: stored.runSeq,
    persistedAt: timeText(stored.persistedAt),
    ...(stored.redaction === undefined ? undefined : { redacted: toRedacted(stored.redaction) }),
  };
  return record satisfies NoneMissing<Exclude<ReadField, keyof typeof record>>;
}

function toRedacted({ at, by, reason }: StoredRedaction) {
  return { at: timeText(at), by, reason };
}

// Exported

export function hexOf(digest: Digest): string {
  return digestBytes(digest).toString('hex');
}

export function exportedEvent(event: StoredRunEvent): ExportedEvent {
  const { redaction } = event;
  return {
    ...(event as Omit<StoredRunEvent, 'redaction' | 'chainFormat' | 'life'> & { chainFormat?: number; life?: number }),
    persistedAt: timeText(event.persistedAt),
    link: hexOf(event.link),
    ...(redaction && { redaction: { ...redaction, at: timeText(redaction.at) } }),
  };
}

// Table row

/** The fields of a row, in the order that `rowOf` and `eventOfRow` use. */
export const ROW_FIELDS = everyOf<StoredField>()(
  'runSeq',
  'eventId',
  'eventType',
  'emittedAt',
  'persistedAt',
  'projectId',
  'environmentId',
  'planId',
  'planVersion',
  'engineAttemptId',
  'logicalAttemptId',
  'idempotencyKey',
  'stepId',
  'extra',
  'payload',
  'commitIndex',
  'link',
  'redaction',
  'chainFormat',
  'life',
);

export type RowValue = string | number | null | Uint8Array;

export function rowOf(event: StoredRunEvent): ValuesOf<typeof ROW_FIELDS, RowValue> {
  return [
    event.runSeq,
    event.eventId,
    event.eventType,
    event.emittedAt,
    event.persistedAt,
    event.projectId,
    event.environmentId,
    event.planId,
    event.planVersion,
    event.engineAttemptId,
    event.logicalAttemptId,
    event.idempotencyKey,
    event.stepId,
    event.extra,
    event.payload,
    event.commitIndex,
    digestBytes(event.link),
    event.redaction ? JSON.stringify(event.redaction) : null,
    event.chainFormat ?? null,
    event.life ?? null,
  ];
}

/** Reads an event from a row whose `ROW_FIELDS` start at index `from`. Accepts numbers as text. */
export function eventOfRow(row: readonly unknown[], from = 0): StoredRunEvent {
  const event: StoredRunEvent = {
    runSeq: Number(row[from]),
    eventId: row[from + 1] as string,
    eventType: row[from + 2] as string,
    emittedAt: row[from + 3] as string,
    persistedAt: Number(row[from + 4]),
    projectId: row[from + 5] as string,
    environmentId: row[from + 6] as string,
    planId: row[from + 7] as string,
    planVersion: row[from + 8] as string,
    engineAttemptId: Number(row[from + 9]),
    logicalAttemptId: Number(row[from + 10]),
    idempotencyKey: row[from + 11] as string,
    stepId: row[from + 12] as string | null,
    extra: row[from + 13] as string | null,
    payload: row[from + 14] as string | null,
    commitIndex: Number(row[from + 15]),
    link: digestOf(row[from + 16]),
  };
  const redaction = parseRedaction(row[from + 17] as string | null);
  if (redaction) event.redaction = redaction;
  const chainFormat = row[from + 18];
  if (chainFormat !== null && chainFormat !== undefined) event.chainFormat = Number(chainFormat);
  const life = row[from + 19];
  if (life !== null && life !== undefined) event.life = Number(life);
  return event;
}

/** Returns `null` for text that cannot be parsed. The event then fails its chain check, which reports the damage. */
function parseRedaction(text: string | null): StoredRedaction | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as StoredRedaction | null;
  } catch {
    return null;
  }
}

/** The fields of an event before it is stored that can differ within a run, in the order that `ownValuesOf` uses. */
export const OWN_FIELDS = everyOf<Exclude<BodyField, 'projectId' | 'environmentId'>>()(
  'eventId',
  'eventType',
  'emittedAt',
  'planId',
  'planVersion',
  'engineAttemptId',
  'logicalAttemptId',
  'idempotencyKey',
  'stepId',
  'extra',
  'payload',
);

export function ownValuesOf(event: EventBody): ValuesOf<typeof OWN_FIELDS, string | number | null> {
  return [
    event.eventId,
    event.eventType,
    event.emittedAt,
    event.planId,
    event.planVersion,
    event.engineAttemptId,
    event.logicalAttemptId,
    event.idempotencyKey,
    event.stepId,
    event.extra,
    event.payload,
  ];
}

// Journal entry

/**
 * The fields of an entry's envelope. The journal stores key, sequence and time itself; the payload is on its own line.
 */
const JOURNAL_FIELDS = everyOf<
  Exclude<StoredField, 'idempotencyKey' | 'runSeq' | 'persistedAt' | 'payload' | 'redaction' | 'chainFormat' | 'life'>
>()(
  'commitIndex',
  'link',
  'eventId',
  'eventType',
  'emittedAt',
  'projectId',
  'environmentId',
  'planId',
  'planVersion',
  'engineAttemptId',
  'logicalAttemptId',
  'stepId',
  'extra',
);

type FieldValues<List extends readonly (keyof StoredRunEvent)[]> = {
  -readonly [At in keyof List]: StoredRunEvent[List[At]];
};

/**
 * The last three members are absent in an entry of format 1 without a redaction, as version 0.1 wrote it. The last one
 * is present only in entries of later lives, which always have format 2.
 */
type Envelope = [
  ...FieldValues<typeof JOURNAL_FIELDS>,
  redaction?: StoredRedaction | null,
  chainFormat?: number | undefined,
  life?: number,
];

const REDACTION_MEMBER = JOURNAL_FIELDS.length;
const FORMAT_MEMBER = REDACTION_MEMBER + 1;

/** Encodes an event as one line of JSON with the envelope, followed by the payload unchanged. */
export function encodeEvent(event: StoredRunEvent): string {
  const envelope: Envelope = [
    event.commitIndex,
    digestBase64(event.link),
    event.eventId,
    event.eventType,
    event.emittedAt,
    event.projectId,
    event.environmentId,
    event.planId,
    event.planVersion,
    event.engineAttemptId,
    event.logicalAttemptId,
    event.stepId,
    event.extra,
    event.redaction ?? null,
    event.chainFormat,
  ];
  if (event.chainFormat === undefined)
    (envelope as unknown[]).length = event.redaction ? FORMAT_MEMBER : REDACTION_MEMBER;
  if (event.life !== undefined) envelope.push(event.life);
  const line = JSON.stringify(envelope);
  return event.payload === null ? line : `${line}\n${event.payload}`;
}

/** Decodes a journal entry. Returns `null` for an entry that is not an event. */
export function decodeEvent(entry: JournalEntry): StoredRunEvent | null {
  const end = entry.body.indexOf('\n');
  const envelope = parseEnvelope(end === -1 ? entry.body : entry.body.slice(0, end));
  if (envelope === null) return null;
  return {
    eventId: envelope[2],
    eventType: envelope[3],
    emittedAt: envelope[4],
    projectId: envelope[5],
    environmentId: envelope[6],
    planId: envelope[7],
    planVersion: envelope[8],
    engineAttemptId: envelope[9],
    logicalAttemptId: envelope[10],
    idempotencyKey: entry.key,
    stepId: envelope[11],
    extra: envelope[12],
    payload: end === -1 ? null : entry.body.slice(end + 1),
    runSeq: entry.seq,
    persistedAt: entry.time,
    commitIndex: envelope[0],
    link: Buffer.from(envelope[1], 'base64').toString('latin1'),
    ...(envelope[13] && { redaction: envelope[13] }),
    ...(envelope[14] === undefined ? undefined : { chainFormat: envelope[14] }),
    ...(envelope[15] === undefined ? undefined : { life: envelope[15] }),
  };
}

/** Checks only the types of the leading fields; the chain check covers their values. */
function parseEnvelope(text: string): Envelope | null {
  try {
    const envelope = JSON.parse(text) as Envelope;
    const isEnvelope =
      Array.isArray(envelope) &&
      Number.isSafeInteger(envelope[0]) &&
      envelope.slice(1, 9).every((part) => typeof part === 'string');
    return isEnvelope ? envelope : null;
  } catch {
    return null;
  }
}
