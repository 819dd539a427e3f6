/**
 * Reads values that adapters stored with `@tidemark/core/adapters`. A value begins with the number of fields into which
 * it was divided. JSON or a list of typed values follows.
 */
import { bytesOfWire, type WireBytes } from '@tidemark/wire';

const COUNT_BYTES = 4;
const PLAIN = 0;
const BROTLI = 1;
const LENGTH_BYTES = 8;
/** A limit far above the number of fields that a record can have. */
const MAX_FIELDS = 100_000;

/** Returns the value of a field as an object to show, or `undefined` if no adapter has stored it. */
export function adapterValueOf(value: WireBytes): object | undefined {
  // The number of fields is preceded by a zero byte.
  if ('text' in value && !value.text.startsWith('\0')) return undefined;
  const bytes = bytesOfWire(value);
  if (bytes.length <= COUNT_BYTES) return undefined;
  const fields = viewOf(bytes).getUint32(0);
  if (fields === 0 || fields > MAX_FIELDS) return undefined;
  const body = bytes.subarray(COUNT_BYTES);
  if (fields > 1) return { parts: fields };
  if (body[0] === BROTLI) return { compressed: `${body.length} bytes` };
  return body[0] === PLAIN ? framesIn(body.subarray(1)) : jsonIn(body);
}

/** Returns typed values by their type. JSON values are parsed. All other values are shown as their size. */
function framesIn(body: Uint8Array): object | undefined {
  const frames: unknown[] = [];
  const view = viewOf(body);
  for (let at = 0; at < body.length; ) {
    if (at + LENGTH_BYTES > body.length) return undefined;
    const typeEnd = at + LENGTH_BYTES + view.getUint32(at);
    const end = typeEnd + view.getUint32(at + LENGTH_BYTES / 2);
    if (end > body.length) return undefined;
    const type = textIn(body.subarray(at + LENGTH_BYTES, typeEnd)) ?? '';
    const bytes = body.subarray(typeEnd, end);
    const text = textIn(bytes);
    frames.push(parsed(text) ?? { type, value: text ?? `${bytes.length} bytes` });
    at = end;
  }
  return frames;
}

function jsonIn(body: Uint8Array): object | undefined {
  const value = parsed(textIn(body));
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Parses JSON; returns `undefined` for other text. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
