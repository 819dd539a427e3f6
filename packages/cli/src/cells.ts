/** Formats table cells: times in the chosen style, states with their colour, JSON in one line. */
import type { Cell, Colour } from './table.ts';

export type TimeStyle = 'relative' | 'local' | 'iso';

const STATE_COLOURS: Record<string, Colour> = {
  completed: 'green',
  complete: 'green',
  success: 'green',
  ok: 'green',
  passed: 'green',
  failed: 'red',
  fail: 'red',
  cancelled: 'red',
  error: 'red',
  paused: 'yellow',
  warn: 'yellow',
  unknown: 'yellow',
  waiting: 'yellow',
  running: 'cyan',
  claimed: 'cyan',
  pending: 'dim',
};

/** A cell's value: plain, or tagged as a time, a state or JSON. */
export type CellValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | { time: string | number | undefined | null }
  | { state: string }
  | { json: unknown };

export const at = (time: string | number | undefined | null): CellValue => ({ time });
export const state = (text: string): CellValue => ({ state: text });
export const inShort = (value: unknown): CellValue => ({ json: value });

export function toCell(value: CellValue, times: TimeStyle, now: number): Cell {
  if (value === null || value === undefined) return { text: '' };
  if (typeof value !== 'object') return { text: String(value) };
  if ('state' in value) return { text: value.state, colour: STATE_COLOURS[value.state.toLowerCase()] };
  if ('json' in value) return { text: value.json === undefined ? '' : JSON.stringify(value.json) };
  return { text: value.time === undefined || value.time === null ? '' : timeText(value.time, times, now) };
}

const UNITS: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

function timeText(time: string | number, style: TimeStyle, now: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  if (style === 'iso') return date.toISOString();
  if (style === 'local') return date.toLocaleString('sv-SE');
  const ms = now - date.getTime();
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `${durationText(ms)} ago` : `in ${durationText(-ms)}`;
}

/** Formats a duration in the largest unit that fits. */
export function durationText(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  return `${Math.round(ms)}ms`;
}
