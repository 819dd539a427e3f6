/**
 * JSON values of adapters in event payloads. A value that fits is stored unchanged, so that people can read it. A
 * larger or deeper value is stored as text, divided among several events.
 */
import { byteLength } from '../checks/bytes.ts';
import { encodeJson, sameJson } from '../checks/json.ts';
import type { JsonValue } from '../contracts/common.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { OwnedEvent } from './owned-logs.ts';

/** The maximum nesting of a value that is stored unchanged. Payloads may have two more levels. */
const MAX_DEPTH = 60;
/** Bytes for the other members of a payload. */
const RESERVED_BYTES = 4096;
/** A UTF-16 unit may need six bytes as escaped JSON. */
const BYTES_PER_UNIT = 6;

/** The payload of one part of a large value. */
interface Part {
  part: number;
  parts: number;
  text: string;
}

/**
 * Returns the events that store a value under a member of their payload. The first event has the idempotency key. The
 * keys of the others are derived from it.
 *
 * @throws `INVALID_PAYLOAD` if the value is not JSON.
 */
export function eventsOfValue(
  event: { eventType: string; member: string; value: unknown; extra?: Record<string, JsonValue> } & Pick<
    OwnedEvent,
    'idempotencyKey'
  >,
  maxBytes: number,
): OwnedEvent[] {
  const { eventType, member, value, extra, idempotencyKey } = event;
  const text = textOfJson(value, member);
  const keyed = (suffix = '') => (idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}${suffix}` });
  if (byteLength(text) <= maxBytes - RESERVED_BYTES && depthOf(value) <= MAX_DEPTH) {
    return [{ eventType, payload: { ...extra, [member]: value }, ...keyed() }];
  }
  const size = Math.max(1, Math.floor((maxBytes - RESERVED_BYTES) / BYTES_PER_UNIT));
  const parts = Math.ceil(text.length / size);
  return Array.from({ length: parts }, (_, at) => {
    const part: Part = { part: at + 1, parts, text: text.slice(at * size, (at + 1) * size) };
    return { eventType, payload: { ...(at === 0 && extra), ...part }, ...keyed(at === 0 ? '' : `.${at + 1}`) };
  });
}

/** A value that was read back, with the first and the last of its events. */
export interface ReadValue<T> {
  value: T;
  first: RunEventRecord;
  last: RunEventRecord;
}

/** Joins events, oldest first, into the values that they store. */
export class ValueReader<T> {
  readonly #member: string;
  #open: RunEventRecord[] = [];

  constructor(member: string) {
    this.#member = member;
  }

  /** Takes the next event. Returns the value that ends with it, or `null` if more parts follow. */
  next(event: RunEventRecord): ReadValue<T> | null {
    const payload = event.payload as Partial<Part> & Record<string, unknown>;
    if (payload.parts === undefined) {
      this.#open = [];
      return { value: payload[this.#member] as T, first: event, last: event };
    }
    if (payload.part === 1) this.#open = [];
    // A part without the preceding parts is left over from a second value under the same idempotency key.
    if (payload.part !== this.#open.length + 1) return null;
    this.#open.push(event);
    if (payload.part < payload.parts) return null;
    const events = this.#open;
    this.#open = [];
    const text = events.map((one) => (one.payload as unknown as Part).text).join('');
    return { value: JSON.parse(text) as T, first: events[0]!, last: event };
  }
}

/** Whether a value begins with this event. Readers that read backwards stop after such an event. */
export function beginsValue(event: RunEventRecord): boolean {
  const { part } = event.payload as Partial<Part>;
  return part === undefined || part === 1;
}

function textOfJson(value: unknown, field: string): string {
  if (depthOf(value) <= MAX_DEPTH) return encodeJson(value, field, Number.MAX_SAFE_INTEGER);
  const text = JSON.stringify(value);
  if (!sameJson(JSON.parse(text), value)) {
    throw new TidemarkError('INVALID_PAYLOAD', `${field} must be JSON`, { field, rule: 'must be JSON' });
  }
  return text;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const member of Array.isArray(value) ? value : Object.values(value))
    deepest = Math.max(deepest, depthOf(member));
  return deepest + 1;
}
