/** Formats the bytes of a field as text, JSON, number, time, hex, base64, or a value that an adapter stored. */
import { base64Of, bytesOfWire, type WireBytes } from '@tidemark/wire';
import { adapterValueOf } from './adapter-values.ts';

export const FORMS = ['adapter', 'text', 'JSON', 'number', 'time', 'hex', 'base64'] as const;
export type Form = (typeof FORMS)[number];

const NUMBER = /^-?\d+(\.\d+)?$/;
/** Ten digits are shown as a time between 2001 and 2286, because such a number is unlikely to be a count. */
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
  if (adapterValueOf(value) !== undefined) return ['adapter', 'hex', 'base64'];
  if (!('text' in value)) return ['hex', 'base64'];
  const { text } = value;
  const fitting: Form[] = [];
  if (millisOf(text) !== null) fitting.push('time');
  if (NUMBER.test(text)) fitting.push('number');
  if (jsonOf(text) !== undefined) fitting.push('JSON');
  return [...fitting, 'text', 'hex', 'base64'];
}

/** Parses a string as a JSON object or array; returns `undefined` for anything else. */
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
  if (form === 'adapter') return JSON.stringify(adapterValueOf(value));
  if (form === 'hex') return hexOf(bytesOfWire(value));
  if (form === 'base64' || !('text' in value)) return 'base64' in value ? value.base64 : base64Of(bytesOfWire(value));
  // Numbers above 2^53 are shown as their digits, because a double would not be exact.
  const isExact = form === 'number' && Number.isSafeInteger(Math.trunc(Number(value.text)));
  return isExact ? COUNT.format(Number(value.text)) : value.text;
}

export function hexOf(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'));
  return digits.map((pair, at) => (at % HEX_GROUP === 0 && at > 0 ? ` ${pair}` : pair)).join('');
}
