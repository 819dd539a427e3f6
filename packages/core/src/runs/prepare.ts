/** Validates and encodes an event before anything is written (RUN-9, GEN-4), and decodes a stored one. */
import { encodeJsonObject } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { checkId, checkObject, checkOptionalId } from '../checks/text.ts';
import { damagedAt, isDamagedPayload } from '../codec/failure.ts';
import type { Payloads } from '../codec/payloads.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import { READ_FIELDS, SENT_FIELDS } from '../contracts/event-fields.ts';
import { EXPIRY_LABEL } from '../contracts/expiry.ts';
import type { RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { PreparedEvent, StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { corruptEvent, leafOf, undecodable } from './chain.ts';
import { filledEvent } from './envelope.ts';
import { checkedFields, decodedRecord, payloadContext } from './event-forms.ts';
import { withAllFaults } from './faults.ts';
import { defaultIdempotencyKey } from './keys.ts';
import { checkTenant, type RunView } from './view.ts';

export const MAX_EXTRA_BYTES = 64 * 1024;

/** Fields that are stored separately. All others are stored together as `extra`. */
const SENT: ReadonlySet<string> = new Set(SENT_FIELDS);

/** Fields that the store assigns and a producer must not send. */
const ASSIGNED: ReadonlySet<string> = new Set([...READ_FIELDS.filter((name) => !SENT.has(name)), 'redacted']);

/** A checked and encoded event, ready for an engine. */
export interface Prepared {
  run: RunKey;
  event: PreparedEvent;
  labels: Record<string, string>;
  parentRunId: string | null;
}

/** Checks every field and encodes the event. The error for an invalid event lists everything that is wrong with it. */
export function prepareEvent(context: StoreContext, input: unknown, view: RunView): Prepared {
  try {
    return checkedEvent(context, input, view);
  } catch (error) {
    const check = (event: object) =>
      checkedEvent(context, filledEvent(event as RunEventInput, context, view?.tenantId), view);
    throw withAllFaults(error, input, check);
  }
}

function checkedEvent(context: StoreContext, input: unknown, view: RunView): Prepared {
  const given = checkObject(input, 'event');
  const tenantId = checkId(given.tenantId, 'tenantId');
  checkTenant(view, tenantId);
  const run = { tenantId, runId: checkId(given.runId, 'runId') };
  const event = checkedFields(given);
  event.extra = encodeExtra(given);
  if (given.payload !== undefined)
    event.payload = encodeJsonObject(given.payload, 'payload', context.limits.eventPayloadBytes);
  event.idempotencyKey =
    given.idempotencyKey === undefined
      ? defaultIdempotencyKey({ ...event, runId: run.runId })
      : checkId(given.idempotencyKey, 'idempotencyKey');
  if (event.payload !== null) event.payload = context.payloads.encode(event.payload, payloadContext(run, event));
  event.leaf = leafOf(run, event);
  const labels = (given.labels as Record<string, string> | undefined) ?? {};
  if (labels[EXPIRY_LABEL] !== undefined) context.expiry.isUsed = true;
  return {
    run,
    event,
    labels,
    parentRunId: (given.parentRunId as string | undefined) ?? null,
  };
}

function encodeExtra(given: Record<string, unknown>): string | null {
  let extra: Record<string, unknown> | null = null;
  // Faster than `Object.keys`, which makes an array.
  for (const key in given) {
    if (SENT.has(key) || given[key] === undefined || !Object.hasOwn(given, key)) continue;
    if (ASSIGNED.has(key)) throw invalidArgument(key, 'absent: the store assigns it');
    checkExtension(key, given[key]);
    extra ??= Object.create(null) as Record<string, unknown>;
    extra[key] = given[key];
  }
  return extra === null ? null : encodeJsonObject(extra, 'event', MAX_EXTRA_BYTES);
}

/** Throws when a member of `extra` is invalid or has the name of a field that is stored separately. */
export function checkExtra(extra: Record<string, unknown>): void {
  for (const key of Object.keys(extra)) {
    if (SENT.has(key) || ASSIGNED.has(key))
      throw invalidArgument(`extra.${key}`, 'absent: this field is stored separately');
    checkExtension(key, extra[key]);
  }
  encodeJsonObject(extra, 'extra', MAX_EXTRA_BYTES);
}

function checkExtension(key: string, value: unknown): void {
  if (key === 'labels') checkLabels(value, 'labels');
  else if (key === 'parentRunId') checkId(value, 'parentRunId');
  else if (key === 'traceparent' || key === 'adapterVersion') checkOptionalId(value, key);
}

/**
 * Returns a stored event in the form that readers receive, as a new object each time. Throws `CORRUPT_EVENT` for an
 * event that cannot be decoded, and `CODEC_FAILED` for a payload that this store's keys and codec cannot open.
 */
export function recordOf(
  payloads: Payloads,
  run: RunKey,
  stored: Omit<StoredRunEvent, 'commitIndex' | 'link'>,
): RunEventRecord {
  try {
    return decodedRecord(payloads, run, stored);
  } catch (error) {
    if (isDamagedPayload(error) && error.keyId !== undefined) throw damagedAt(error, stored.runSeq);
    if (isDamagedPayload(error))
      throw corruptEvent(run, stored.runSeq, `its payload cannot be decoded: ${error.rule}`, error);
    // Errors from parsing and formatting. A codec's own error is rethrown unchanged.
    if (error instanceof SyntaxError || error instanceof RangeError) throw undecodable(run, stored.runSeq);
    throw error;
  }
}

/** Returns the damage that an error reports, or `null` for every other error. */
export function damageIn(error: unknown): { runSeq?: number; reason: string } | null {
  if (!isTidemarkError(error, 'CORRUPT_EVENT') && !isDamagedPayload(error)) return null;
  return { runSeq: error.runSeq, reason: error.rule ?? error.message };
}
