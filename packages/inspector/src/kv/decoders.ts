/** Formats the bytes of a field as text, JSON, number, time, hex or base64. */
import { base64Of, bytesOfWire, type WireBytes } from '@tidemark/wire';

export const FORMS = ['text', 'JSON', 'number', 'time', 'hex', 'base64'] as const;
export type Form = (typeof FORMS)[number];

const NUMBER = /^-?\d+(\.\d+)?$/;
/** Ten digits: times from 2001 to 2286, unlikely to be a count. */
const SECONDS = /^[1-9]\d{9}(\.\d+)?$/;
const MILLISECONDS = /^[1-9]\d{12}$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/;
const COUNT = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 20 });
const HEX_GROUP = 2;

export function isSame(one: WireBytes | undefined, other: WireBytes | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the formats that fit the value, the most specific first. */
export function formsOf(value: WireBytes): Form[] {
  if (!('text' in value)) return ['hex', 'base64'];
  const { text } = value;
  const fitting: Form[] = [];
  if (millisOf(text) !== null) fitting.push('time');
  if (NUMBER.test(text)) fitting.push('number');
  if (jsonOf(text) !== undefined) fitting.push('JSON');
  return [...fitting, 'text', 'hex', 'base64'];
}

/** Parses a text as a JSON object or array; returns `undefined` for anything else. */
export function jsonOf(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

export function millisOf(text: string): number | null {
  if (MILLISECONDS.test(text)) return Number(text);
  if (SECONDS.test(text)) return Math.round(Number(text) * 1_000);
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Returns the value as text in a format. JSON and times are rendered by the view. */
export function textIn(form: Form, value: WireBytes): string {
  if (form === 'hex') return hexOf(bytesOfWire(value));
  if (form === 'base64' || !('text' in value)) return 'base64' in value ? value.base64 : base64Of(bytesOfWire(value));
  // Beyond 2^53 only the digits themselves are exact.
  const isExact = form === 'number' && Number.isSafeInteger(Math.trunc(Number(value.text)));
  return isExact ? COUNT.format(Number(value.text)) : value.text;
}

export function hexOf(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'));
  return digits.map((pair, at) => (at % HEX_GROUP === 0 && at > 0 ? ` ${pair}` : pair)).join('');
}
