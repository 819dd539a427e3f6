/**
 * Encodes items of a session as JSON. Items may contain bytes, such as the bytes of a file, for which JSON has no form.
 */
import type { AgentInputItem } from '@openai/agents-core';
import type { JsonValue } from '@tidemark/core';

/** The only member of an object that represents bytes. */
const BYTES = 'tidemark.bytes';
/** The only member of an object that represents a caller's object with one of these two members. */
const PLAIN = 'tidemark.plain';

/** Returns an item as JSON. Members that are `undefined` are left out. */
export function encodeItem(item: AgentInputItem): JsonValue {
  return encode(item);
}

export function decodeItem(json: JsonValue): AgentInputItem {
  return decode(json) as AgentInputItem;
}

function encode(value: unknown): JsonValue {
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(encode);
  if (!isPlain(value)) return value as JsonValue;
  const members = entriesTo(value, encode);
  return BYTES in value || PLAIN in value ? { [PLAIN]: members } : members;
}

function decode(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== 'object' || value === null) return value;
  const bytes = value[BYTES];
  if (typeof bytes === 'string') return new Uint8Array(Buffer.from(bytes, 'base64'));
  const plain = value[PLAIN];
  return entriesTo((plain ?? value) as Record<string, JsonValue>, decode);
}

function entriesTo<T, R>(value: Record<string, T>, change: (member: T) => R): Record<string, R> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, change(member)]),
  );
}

/** Only plain objects are converted. Other objects are left unchanged, and refused when they are stored. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
