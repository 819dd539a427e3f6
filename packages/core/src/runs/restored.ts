/**
 * Checks exported parts before they are restored. Restored events obey the same rules, limits and times as appended
 * ones, and this store must be able to decode their payloads, because otherwise a restore could store events that make
 * readers fail.
 */
import { decodeJson, encodeJsonObject, tooLarge } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { checkLife, laterLife } from '../checks/life.ts';
import { checkInteger, checkTime } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalId, checkText } from '../checks/text.ts';
import { isEnvelope } from '../codec/envelope.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import { presentFields } from '../contracts/event-fields.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import { RUN_STATUSES } from '../contracts/run-state.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RestoredPart, RunHead, StoredRedaction, StoredRunEvent } from '../engine/runs.ts';
import type { Digest } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { NEWEST_CHAIN_FORMAT } from './chain.ts';
import { checkedFields, payloadContext } from './event-forms.ts';
import { checkExtra, MAX_EXTRA_BYTES } from './prepare.ts';
import { MAX_REASON_BYTES } from './redaction.ts';

const MAX_EVENTS = 1_000;
/** More than any run can have, and low enough that incrementing it stays below the largest safe integer. */
const MAX_REWRITES = 2 ** 50;
/** How far the clock of the store that wrote a run may be ahead of this store's clock. */
const MAX_SKEW_MS = 5 * 60_000;

/** Larger texts are rejected without being parsed. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** The rules that restored events must obey. */
export interface RestoreRules {
  context: StoreContext;
  /** Stores encoded payloads that this store cannot decode unchanged, instead of rejecting them. */
  keepEncoded: boolean;
}

interface Checks {
  /** The latest accepted time, in milliseconds since the epoch. */
  latestMs: number;
  payload(value: unknown, run: RunKey, idempotencyKey: string): string | null;
}

/** Converts a part for the engine. Throws for a part that a store with these rules could not have written. */
export function restoredPart(part: RunPart, rules: RestoreRules): RestoredPart {
  return checkedPart(part, {
    latestMs: rules.context.clock() + MAX_SKEW_MS,
    payload: (value, run, idempotencyKey) => restoredPayload(value, run, idempotencyKey, rules),
  });
}

/** Converts a part that is only read. Checks its shape, but not this store's limits, times or codec. */
export function carriedPart(part: RunPart): RestoredPart {
  return checkedPart(part, { latestMs: Number.POSITIVE_INFINITY, payload: carriedPayload });
}

function checkedPart(part: RunPart, checks: Checks): RestoredPart {
  const given = checkObject(part, 'part');
  if (!Array.isArray(given.events) || given.events.length > MAX_EVENTS)
    throw invalidArgument('part.events', `an array of at most ${MAX_EVENTS} events`);
  if (typeof given.isLast !== 'boolean') throw invalidArgument('part.isLast', 'true or false', given.isLast ?? null);
  const head = restoredHead(given.run, checks.latestMs);
  const events = given.events.map((event) => restoredEvent(event, head, checks));
  return { head, events, isLast: given.isLast };
}

function restoredHead(run: unknown, latestMs: number): RunHead {
  const given = checkObject(run, 'part.run');
  return {
    tenantId: checkId(given.tenantId, 'tenantId'),
    runId: checkId(given.runId, 'runId'),
    projectId: checkId(given.projectId, 'projectId'),
    environmentId: checkId(given.environmentId, 'environmentId'),
    planId: checkId(given.planId, 'planId'),
    planVersion: checkId(given.planVersion, 'planVersion'),
    status: given.status === null ? null : checkOneOf(given.status, 'status', RUN_STATUSES),
    seq: checkInteger(given.lastEventSeq, 'lastEventSeq', 1),
    link: checkDigest(given.head, 'head'),
    createdAt: checkPast(given.createdAt, 'createdAt', latestMs),
    updatedAt: checkPast(given.updatedAt, 'updatedAt', latestMs),
    labels: checkLabels(given.labels, 'labels'),
    parentRunId: checkOptionalId(given.parentRunId, 'parentRunId'),
    life: given.life === undefined ? 1 : checkLife(given.life),
    rewrites: given.rewrites === undefined ? 0 : checkInteger(given.rewrites, 'rewrites', 0, MAX_REWRITES),
  };
}

function restoredEvent(event: unknown, run: RunKey, { latestMs, payload }: Checks): StoredRunEvent {
  const given = checkObject(event, 'event');
  const idempotencyKey = checkId(given.idempotencyKey, 'idempotencyKey');
  const { leaf: _, ...fields } = checkedFields(presentFields(given));
  return {
    ...fields,
    runSeq: checkInteger(given.runSeq, 'runSeq', 1),
    persistedAt: checkPast(given.persistedAt, 'persistedAt', latestMs),
    idempotencyKey,
    extra: restoredExtra(given.extra),
    payload: payload(given.payload, run, idempotencyKey),
    commitIndex: checkInteger(given.commitIndex, 'commitIndex', 1),
    link: checkDigest(given.link, 'link'),
    ...(given.redaction === undefined ? undefined : { redaction: restoredRedaction(given.redaction, latestMs) }),
    ...restoredFormat(given.chainFormat),
    ...laterLife(given.life === undefined ? 1 : checkLife(given.life)),
  };
}

/** Format 1 is stored as an absent field. */
function restoredFormat(value: unknown): Pick<StoredRunEvent, 'chainFormat'> {
  const chainFormat = value === undefined ? 1 : checkInteger(value, 'chainFormat', 1, NEWEST_CHAIN_FORMAT);
  return chainFormat === 1 ? {} : { chainFormat };
}

function restoredRedaction(redaction: unknown, latestMs: number): StoredRedaction {
  const given = checkObject(redaction, 'redaction');
  checkDigest(given.payloadHash, 'redaction.payloadHash');
  return {
    payloadHash: given.payloadHash as string,
    at: checkPast(given.at, 'redaction.at', latestMs),
    by: checkId(given.by, 'redaction.by'),
    reason: checkText(given.reason, 'redaction.reason', MAX_REASON_BYTES),
  };
}

function checkDigest(value: unknown, field: string): Digest {
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return Buffer.from(value, 'hex').toString('latin1');
  throw invalidArgument(field, 'a SHA-256 in hex', value ?? null);
}

/** Rejects times in the future, because the times of later events can never be lower. */
function checkPast(value: unknown, field: string, latestMs: number): number {
  const ms = Date.parse(checkTime(value, field));
  if (ms <= latestMs) return ms;
  throw invalidArgument(field, "not in the future of the store's clock by more than 5 minutes", value);
}

/** Checks `extra`. It must not contain fields that are stored separately, because it would overwrite those on read. */
function restoredExtra(value: unknown): string | null {
  if (value === null) return null;
  const text = checkText(value, 'extra', MAX_EXTRA_BYTES);
  checkExtra(parseObject(text, 'extra'));
  return text;
}

function restoredPayload(
  value: unknown,
  run: RunKey,
  idempotencyKey: string,
  { context, keepEncoded }: RestoreRules,
): string | null {
  if (value === null) return null;
  const { limits, payloads } = context;
  const maxBytes = limits.eventPayloadBytes;
  if (typeof value === 'string' && value.length > encodedBytes(maxBytes)) throw tooLarge('payload', maxBytes);
  const stored = checkText(value, 'payload', MAX_TEXT_BYTES);
  let text: string;
  try {
    text = payloads.open(stored, payloadContext(run, { idempotencyKey }));
  } catch (cause) {
    if (!isTidemarkError(cause, 'CODEC_FAILED')) throw cause;
    if (keepEncoded && isEnvelope(stored)) return stored;
    throw unreadable(cause);
  }
  encodeJsonObject(parseObject(text, 'payload'), 'payload', maxBytes);
  return stored;
}

function carriedPayload(value: unknown): string | null {
  if (value === null) return null;
  const text = checkText(value, 'payload', MAX_TEXT_BYTES);
  parseObject(text, 'payload');
  return text;
}

/** Returns an upper bound for the size of a payload after a codec has encoded it. */
function encodedBytes(bytes: number): number {
  return 2 * bytes + 4_096;
}

function unreadable(cause: TidemarkError): TidemarkError {
  return new TidemarkError(
    'INVALID_PAYLOAD',
    `payload must be one that this store can decode: ${cause.message}. Open it with the codec of the store that wrote the run, or restore with \`keepEncoded\``,
    { field: 'payload', rule: 'one that this store can decode', cause },
  );
}

function parseObject(text: string, field: string): Record<string, unknown> {
  try {
    return checkObject(decodeJson(text), field);
  } catch {
    throw invalidArgument(field, 'the JSON text of an object, or null', text);
  }
}
