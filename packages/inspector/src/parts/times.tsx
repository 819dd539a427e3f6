/** Formats times. The exact time is always in the tooltip. */
import { signal } from '@preact/signals';
import { roughly } from './durations.ts';

/** The display format of times. */
export type TimeForm = 'relative' | 'local' | 'utc';

const STORAGE_KEY = 'tidemark.times';
const NEXT: Record<TimeForm, TimeForm> = { relative: 'local', local: 'utc', utc: 'relative' };
const TICK_MS = 1_000;

export const timeForm = signal<TimeForm>(storedForm());
/** The current time, for relative times. */
export const now = signal(Date.now());

function storedForm(): TimeForm {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === 'local' || stored === 'utc' ? stored : 'relative';
}

export function changeTimeForm(): void {
  timeForm.value = NEXT[timeForm.value];
  localStorage.setItem(STORAGE_KEY, timeForm.value);
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, TICK_MS);
}

/** Formats milliseconds since the epoch as RFC 3339. Returns an out-of-range number unchanged. */
export function momentText(ms: number): string {
  const moment = new Date(ms);
  return Number.isNaN(moment.getTime()) ? String(ms) : moment.toISOString();
}

/** Shows an RFC 3339 time. */
export function Time({ at }: { at: string | undefined }) {
  if (at === undefined) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={at}>
      {timeText(at)}
    </time>
  );
}

function timeText(at: string): string {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return at;
  if (timeForm.value === 'utc') return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}Z`;
  if (timeForm.value === 'local') return LOCAL.format(ms);
  const ago = now.value - ms;
  return Math.abs(ago) < 1_000 ? 'now' : ago >= 0 ? `${roughly(ago)} ago` : `in ${roughly(-ago)}`;
}

const LOCAL = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
